use super::*;
use crate::proposal::ProposalPurpose;
use crate::transforms::ProposalGain;

const BEFORE: &str = "# Copyright 2024 Shop\n\"\"\"Carts.\"\"\"\nimport logging\nimport time\n\nlogger = logging.getLogger(__name__)\n\n\ndef total(prices):\n    \"\"\"All of it.\"\"\"\n    logger.info(\"total of %s\", prices)\n    return sum(prices) / len(prices)\n";

fn flags(after: &str) -> Vec<String> {
    let path = "cart.py".to_owned();
    let meant = ProposalPurpose {
        proposer: "test".into(),
        section: "cart:total".into(),
        cause: String::new(),
        why: String::new(),
        gain: ProposalGain::Robustness,
    };
    let before = BTreeMap::from([(path.clone(), BEFORE.to_owned())]);
    let proposal = Proposal::new(meant, &before, BTreeMap::from([(path.clone(), after.to_owned())]));
    let found =
        align(&BTreeMap::from([(&path, BEFORE.to_owned())]), &proposal, &[], &AlignmentBaseline::default());
    found
        .flags
        .into_iter()
        .filter(|flag| flag.severity == FlagSeverity::Failure)
        .map(|flag| flag.rule)
        .collect()
}

/// The source with its last line replaced.
fn ending(lines: &str) -> String {
    BEFORE.replace("    return sum(prices) / len(prices)\n", lines)
}

#[test]
fn a_guard_is_accepted() {
    let guard = "    if not prices:\n        raise ValueError(\"prices must not be empty\")\n    return sum(prices) / len(prices)\n";
    assert_eq!(flags(&ending(guard)), Vec::<String>::new());
    let specific = "    try:\n        return sum(prices) / len(prices)\n    except ZeroDivisionError as error:\n        raise ValueError(\"no prices\") from error\n";
    assert_eq!(flags(&ending(specific)), Vec::<String>::new());
}

#[test]
fn unacceptable_changes_fail() {
    let cases = [
        (
            ending(
                "    try:\n        return sum(prices) / len(prices)\n    except Exception:\n        return 0\n",
            ),
            "broad_except",
        ),
        (
            ending("    try:\n        return sum(prices) / len(prices)\n    except:\n        return 0\n"),
            "broad_except",
        ),
        (
            ending("    try:\n        return 1\n    except (ValueError, BaseException):\n        return 0\n"),
            "broad_except",
        ),
        (BEFORE.replace("    logger.info(\"total of %s\", prices)\n", ""), "removed_logging"),
        (BEFORE.replace("    \"\"\"All of it.\"\"\"\n", ""), "removed_docstring"),
        (BEFORE.replace("# Copyright 2024 Shop\n", ""), "licence_header"),
        (BEFORE.replace("def total(", "def other("), "removed_definition"),
        (ending("    import os\n    os._exit(0)\n"), "risky_call"),
        (ending("    import sys\n    sys.exit()\n"), "risky_call"),
        (ending("    return eval(\"1\")\n"), "risky_call"),
        (ending("    import sys\n    sys.modules.pop(\"cart\", None)\n    return 0\n"), "risky_call"),
        (ending("    import random\n    random.seed(0)\n    return 0\n"), "risky_call"),
        (ending("    from importlib import import_module\n    return 0\n"), "risky_call"),
        (ending("    import subprocess\n    return subprocess.run([\"true\"])\n"), "new_outside"),
        (
            ending("    import urllib.request\n    return urllib.request.urlopen(\"http://a\")\n"),
            "new_outside",
        ),
        (ending("    time.time = lambda: 0\n    return 0\n"), "monkeypatch"),
        (
            ending("    import os\n    return 0 if \"PYTEST_CURRENT_TEST\" in os.environ else 1\n")
                .replace("PYTEST", "pytest"),
            "knows_the_measure",
        ),
        (ending("    import menace_harness\n    return 0\n"), "knows_the_measure"),
        (ending("    return sum(prices) / len(prices)  # nosec\n"), "silenced"),
        (ending("    return sum(prices) / len(prices)  # noqa: B018\n"), "silenced"),
    ];
    for (after, rule) in cases {
        let found = flags(&after);
        assert!(found.iter().any(|found| found == rule), "{rule}: {found:?}\n{after}");
    }
}
