//! Origin of a name, to recognise members of `typing` and `collections` under any alias.

use super::binding::{BindingKind, BoundImport, ImportForm};
use super::builtins;
use super::scope::ScopeTable;
use crate::syntax::{Expr, ast};

/// Name with the module that defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NameOrigin<'n> {
    pub(super) module: &'n str,
    pub(super) member: &'n str,
}

impl NameOrigin<'_> {
    pub(super) fn is_typing(self) -> bool {
        matches!(self.module, "typing" | "typing_extensions")
    }

    /// Whether it is this member of `typing`.
    pub(super) fn is(self, member: &str) -> bool {
        self.is_typing() && self.member == member
    }
}

/// Content of a subscript's brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptForm {
    /// `Literal[…]`: values.
    Literal,
    /// `Annotated[…]`: a type, then values.
    Annotated,
    /// `List[…]` and other generics: types.
    Generic,
    /// Decided by the context of the subscript.
    Other,
}

impl ScopeTable<'_> {
    /// The origin of a name or of an attribute of an imported module.
    pub(super) fn origin<'n>(&'n self, expression: &'n Expr) -> Option<NameOrigin<'n>> {
        match expression {
            Expr::Name(name) => self.origin_of_name(name.id.as_str()),
            Expr::Attribute(attribute) => {
                let member = attribute.attr.as_str();
                self.module(&attribute.value).map(|module| NameOrigin { module, member })
            }
            _ => None,
        }
    }

    fn origin_of_name<'n>(&'n self, name: &'n str) -> Option<NameOrigin<'n>> {
        let Some(binding) = self.peek(name) else {
            return builtins::is_builtin(name).then_some(NameOrigin { module: "builtins", member: name });
        };
        match binding.kind {
            BindingKind::Import(BoundImport { form: ImportForm::Member, module, alias, .. }) => {
                Some(NameOrigin { module, member: alias.name.as_str() })
            }
            _ => None,
        }
    }

    /// The module that an expression names.
    fn module<'n>(&'n self, expression: &'n Expr) -> Option<&'n str> {
        match expression {
            Expr::Name(name) => match self.peek(name.id.as_str())?.kind {
                BindingKind::Import(import) => match import.form {
                    ImportForm::Module => Some(import.module),
                    ImportForm::Submodule => import.module.split('.').next(),
                    ImportForm::Member => submodule(import.module, import.alias.name.as_str()),
                },
                _ => None,
            },
            Expr::Attribute(attribute) if attribute.value.is_name_expr() => {
                submodule(self.module(&attribute.value)?, attribute.attr.as_str())
            }
            _ => None,
        }
    }

    pub(super) fn form(&self, subscript: &ast::ExprSubscript) -> SubscriptForm {
        // Only these slices can contain a string, and most subscripts are plain indices.
        let may_hold_string = matches!(
            &*subscript.slice,
            Expr::StringLiteral(_) | Expr::Tuple(_) | Expr::List(_) | Expr::Subscript(_) | Expr::BinOp(_)
        );
        if !may_hold_string {
            return SubscriptForm::Other;
        }
        let Some(origin) = self.origin(&subscript.value) else { return SubscriptForm::Other };
        match (origin.module, origin.member) {
            ("typing" | "typing_extensions", "Literal") => SubscriptForm::Literal,
            ("typing" | "typing_extensions", "Annotated") => SubscriptForm::Annotated,
            ("typing" | "typing_extensions" | "collections.abc", _) => SubscriptForm::Generic,
            ("builtins", "dict" | "frozenset" | "list" | "set" | "tuple" | "type") => SubscriptForm::Generic,
            ("collections", "ChainMap" | "Counter" | "OrderedDict" | "defaultdict" | "deque") => {
                SubscriptForm::Generic
            }
            ("re", "Match" | "Pattern") => SubscriptForm::Generic,
            ("contextlib", "AbstractContextManager" | "AbstractAsyncContextManager") => {
                SubscriptForm::Generic
            }
            _ => SubscriptForm::Other,
        }
    }
}

/// The only submodule whose members matter here.
fn submodule(package: &str, module: &str) -> Option<&'static str> {
    (package == "collections" && module == "abc").then_some("collections.abc")
}
