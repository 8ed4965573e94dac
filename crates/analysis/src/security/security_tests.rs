//! Behaviour of the tests as data. Expectations are the results of Bandit 1.9.4 for the same snippets, except where it
//! fails: on hostile assignments and on code that does not parse.

use menace_model::inventory::FindingSeverity::{self, High, Low, Medium};
use menace_model::inventory::SecurityFinding;

use super::findings;
use crate::syntax::ParsedPythonSource;

fn scan(snippet: &str) -> Vec<SecurityFinding> {
    findings(&ParsedPythonSource::parse(snippet.to_owned()))
}

/// Checks all findings of a snippet, by line and id.
fn check(snippet: &str, expected: &[(&str, u32)]) {
    let found = scan(snippet);
    let found: Vec<_> = found.iter().map(|finding| (finding.id.as_str(), finding.line)).collect();
    assert_eq!(found, expected, "{snippet}");
}

/// Checks the levels of a snippet's only finding with an id.
fn check_levels(snippet: &str, id: &str, severity: FindingSeverity, confidence: FindingSeverity) {
    let found: Vec<_> = scan(snippet).into_iter().filter(|finding| finding.id == id).collect();
    let levels: Vec<_> = found.iter().map(|finding| (finding.severity, finding.confidence)).collect();
    assert_eq!(levels, [(severity, confidence)], "{snippet}");
}

#[test]
fn every_test_finds_its_construct_and_not_a_similar_one() {
    for (id, positive, look_alike) in CASES {
        let has = |snippet: &str| scan(snippet).iter().any(|finding| finding.id == *id);
        assert!(has(positive), "{id} misses {positive}");
        assert!(!has(look_alike), "{id} finds {look_alike}");
    }
}

#[test]
fn every_test_has_a_case() {
    let cases: Vec<&str> = CASES.iter().map(|(id, ..)| *id).collect();
    let known = super::nosec::tests().map(|(id, _)| id).filter(|id| *id != "B001");
    let without: Vec<&str> = known.filter(|id| !cases.contains(id)).collect();
    assert_eq!(without, [""; 0]);
    assert_eq!(cases.len(), 75);
}

/// Id, a snippet with that finding, a similar one without.
const CASES: &[(&str, &str, &str)] = &[
    ("B101", "assert x", "self.assertTrue(x)"),
    ("B102", "exec(code)", "cursor.exec(code)"),
    ("B103", "os.chmod(path, 0o777)", "os.chmod(path, 0o644)"),
    ("B104", "bind('0.0.0.0')", "bind('10.0.0.0')"),
    ("B105", "password = 'x'", "password_hint_text = x"),
    ("B106", "connect(password='x')", "connect(passwords='x')"),
    ("B107", "def f(password='x'): pass", "def f(*, password='x'): pass"),
    ("B108", "open('/tmp/x')", "open('/opt/tmp/x')"),
    ("B110", "try: f()\nexcept Exception: pass", "try: f()\nexcept ValueError: pass"),
    (
        "B112",
        "for x in y:\n try: f()\n except: continue",
        "for x in y:\n try: f()\n except OSError: continue",
    ),
    ("B113", "requests.get(url)", "requests.get(url, timeout=5)"),
    ("B201", "import flask\napp.run(debug=True)", "app.run(debug=True)"),
    ("B202", "import tarfile\nt.extractall()", "import tarfile\nt.extractall(filter='data')"),
    ("B301", "import pickle\npickle.loads(x)", "import json\njson.loads(x)"),
    ("B302", "marshal.load(f)", "marshal.dump(x, f)"),
    ("B303", "from Crypto.Hash import MD5\nMD5.new()", "from Crypto.Hash import SHA256\nSHA256.new()"),
    ("B304", "from Crypto.Cipher import DES\nDES.new(k)", "from Crypto.Cipher import AES\nAES.new(k)"),
    (
        "B305",
        "from cryptography.hazmat.primitives.ciphers import modes\nmodes.ECB()",
        "from cryptography.hazmat.primitives.ciphers import modes\nmodes.CBC(iv)",
    ),
    ("B306", "from tempfile import mktemp as m\nm()", "from tempfile import mkstemp as m\nm()"),
    ("B307", "eval(x)", "ast.literal_eval(x)"),
    ("B308", "from django.utils.safestring import mark_safe\nmark_safe(x)", "mark_safe(x)"),
    ("B310", "import urllib.request as r\nr.urlopen(u)", "opener.urlopen(u)"),
    ("B311", "random.choice(x)", "random.SystemRandom().choice(x)"),
    ("B312", "telnetlib.Telnet(host)", "Telnet(host)"),
    ("B313", "xml.etree.cElementTree.parse(f)", "xml.etree.cElementTree.tostring(f)"),
    (
        "B314",
        "import xml.etree.ElementTree as E\nE.fromstring(x)",
        "import defusedxml.ElementTree as E\nE.fromstring(x)",
    ),
    ("B315", "xml.sax.expatreader.create_parser()", "create_parser()"),
    ("B316", "from xml.dom import expatbuilder as e\ne.parse(f)", "e.parse(f)"),
    ("B317", "from xml import sax\nsax.make_parser()", "from xml import sax\nsax.handler()"),
    (
        "B318",
        "from xml.dom import minidom\nminidom.parseString(x)",
        "from xml.dom import minidom\nminidom.Document()",
    ),
    ("B319", "from xml.dom.pulldom import parse\nparse(f)", "def parse(f): pass\nparse(f)"),
    ("B321", "ftplib.FTP(host)", "ftplib.FTP_TLS(host)"),
    ("B323", "ssl._create_unverified_context()", "ssl.create_default_context()"),
    ("B324", "hashlib.md5(x)", "hashlib.md5(x, usedforsecurity=False)"),
    ("B401", "import telnetlib", "import mytelnetlib"),
    ("B402", "from ftplib import FTP", "from myftp import ftplib_x"),
    ("B403", "import pickletools", "import _pickle"),
    ("B404", "from . import subprocess", "from asyncio import subprocess"),
    ("B405", "from xml.etree import ElementTree", "from xml.etree import ElementPath"),
    ("B406", "import xml.sax.handler", "import xml"),
    ("B407", "import xml.dom.expatbuilder", "import xml.dom"),
    ("B408", "from xml.dom.minidom import parse", "from xml.dom import Node"),
    ("B409", "from xml.dom import pulldom", "from xml.dom import minidom"),
    ("B411", "import xmlrpc.client", "import xml.rpc"),
    ("B412", "from wsgiref.handlers import CGIHandler", "from wsgiref.handlers import BaseHandler"),
    ("B413", "from Crypto import Cipher", "import Crypto"),
    ("B415", "import pyghmi", "import ghmi"),
    ("B501", "requests.get(u, verify=False)", "requests.get(u, verify=ca)"),
    ("B502", "connect(ssl_version=ssl.PROTOCOL_SSLv3)", "connect(ssl_version=ssl.PROTOCOL_TLS)"),
    ("B503", "def f(v=ssl.PROTOCOL_TLSv1): pass", "def f(v=ssl.PROTOCOL_TLS): pass"),
    ("B504", "ssl.wrap_socket(s)", "context.wrap_socket(s)"),
    (
        "B505",
        "from Crypto.PublicKey import RSA\nRSA.generate(1024)",
        "from Crypto.PublicKey import RSA\nRSA.generate(4096)",
    ),
    ("B506", "import yaml\nyaml.load(x)", "import yaml\nyaml.load(x, Loader=yaml.SafeLoader)"),
    (
        "B507",
        "import paramiko\nc.set_missing_host_key_policy(paramiko.AutoAddPolicy())",
        "import paramiko\nc.set_missing_host_key_policy(paramiko.RejectPolicy())",
    ),
    (
        "B508",
        "from pysnmp.hlapi import CommunityData\nCommunityData('x', mpModel=0)",
        "from pysnmp.hlapi import CommunityData\nCommunityData('x', mpModel=3)",
    ),
    (
        "B509",
        "from pysnmp.hlapi import UsmUserData\nUsmUserData('x')",
        "from pysnmp.hlapi import UsmUserData\nUsmUserData('x', a, p)",
    ),
    ("B601", "import paramiko\nc.exec_command(x)", "c.exec_command(x)"),
    ("B602", "subprocess.run(x, shell=True)", "subprocess.run(x, shell=False)"),
    ("B603", "subprocess.run(x)", "subprocess.run(x, shell=y)"),
    ("B604", "run_it(x, shell=True)", "run_it(x, shell=0)"),
    ("B605", "import os as o\no.system(x)", "self.system(x)"),
    ("B606", "os.execv(p, a)", "self.execv(p, a)"),
    ("B607", "subprocess.run(['ls', x])", "subprocess.run(['/bin/ls', x])"),
    ("B608", "q = 'select a from %s where b' % t", "q = 'select a from t where b'"),
    ("B609", "os.system('tar cf x *')", "os.system('tar cf x y')"),
    ("B610", "q.extra(where=[x])", "q.extra(where=['a = 1'])"),
    (
        "B611",
        "from django.db.models.expressions import RawSQL\nRawSQL(x, [])",
        "from django.db.models.expressions import RawSQL\nRawSQL('1', [])",
    ),
    (
        "B612",
        "import logging.config\nlogging.config.listen(1)",
        "import logging.config\nlogging.config.listen(1, verify=f)",
    ),
    ("B613", "x = 1\n# \u{202e}", "x = 1\n# \u{202f} é"),
    ("B614", "import torch\ntorch.load(x)", "import torch\ntorch.load(x, weights_only=True)"),
    (
        "B615",
        "from transformers import AutoModel\nAutoModel.from_pretrained('org/model')",
        "from transformers import AutoModel\nAutoModel.from_pretrained('org/model', revision='5d0f2e8a7f1cd86b')",
    ),
    (
        "B701",
        "import jinja2\njinja2.Environment()",
        "import jinja2\njinja2.Environment(autoescape=select_autoescape())",
    ),
    ("B702", "from mako.template import Template\nTemplate(x)", "from string import Template\nTemplate(x)"),
    (
        "B703",
        "from django.utils.safestring import mark_safe\nmark_safe(x)",
        "from django.utils.safestring import mark_safe\nx = 'a'\nmark_safe(x)",
    ),
    ("B704", "from markupsafe import Markup\nMarkup(x)", "from markupsafe import Markup\nMarkup('x')"),
];

#[test]
fn aliases_apply_after_the_import_and_across_scopes() {
    check("m()\ndef f():\n    from tempfile import mktemp as m\nm()", &[("B306", 4)]);
    check("from .pickle import loads\nloads(x)", &[("B403", 1), ("B301", 2)]);
}

#[test]
fn imports_by_call_count_with_the_exact_name() {
    check("__import__('pickle')\n__import__('pickletools')\n__import__(pickle)", &[("B403", 1)]);
    check("import importlib\nimportlib.import_module(name='telnetlib')", &[("B401", 2)]);
    check("importlib.import_module(subprocess)\nimportlib.import_module(x())", &[("B404", 1)]);
}

#[test]
fn one_import_statement_is_one_finding() {
    check("import subprocess, pickle", &[("B403", 1)]);
}

#[test]
fn keywords_move_the_line() {
    check("f(\n  a,\n  password='x')", &[("B106", 3)]);
    check("subprocess.run(\n  ['/bin/ls'],\n  shell=False)", &[("B603", 3)]);
    check("f(\n  shell=True)", &[("B604", 2)]);
    check("requests.get(\n  u,\n  verify=False)", &[("B113", 1), ("B501", 3)]);
    check("f(\n  method=1,\n  ssl_version=PROTOCOL_SSLv2)", &[("B502", 2)]);
}

#[test]
fn decorated_function_is_reported_on_the_line_of_its_name() {
    check("@a\n@b(\n)\ndef f(password='x'):\n    pass", &[("B107", 4)]);
    check("async def f(password='x'): pass", &[]);
}

#[test]
fn passwords_are_recognised_by_name() {
    check("self.db_passwd = 'x'\nconfig['token'] = 'x'\ny = config['token']", &[("B105", 1), ("B105", 2)]);
    check("d = {\n  'password': 1,\n  'secret': f(),\n}", &[("B105", 2)]);
    check("if pwd == 'a' == 'b' or 'x' == pwd: f()", &[("B105", 1), ("B105", 1)]);
    check("password: str = 'x'\npassword = f'x'\npassword = None", &[]);
    check("def f(a='x', /, password=y): pass", &[("B107", 1)]);
}

#[test]
fn strings_count_unless_they_are_statements() {
    check("'/tmp/x'\nf'/tmp/{x}'\nx = f'{y}/tmp'\nf'a/tmp'", &[("B108", 2), ("B108", 3)]);
    check("x = ('a'\n  f'{x}'\n  '/dev/shm')", &[("B108", 1)]);
}

#[test]
fn queries_are_checked_with_the_following_strings() {
    check("q = ('select ' +\n  x + ' from ' +\n  y + ' where')", &[("B608", 1)]);
    check("q = f'select {x}' f' from {y} '", &[("B608", 1)]);
    check_levels("c.execute('update t set x = {}'.format(y))", "B608", Medium, Medium);
    check_levels("c.execute('update t set x = {}'.replace(a, b))", "B608", Medium, Low);
    check_levels("c.execute(f'update {t} set x')", "B608", Medium, Medium);
    check_levels("c.execute(sql='delete from ' + t)", "B608", Medium, Low);
}

#[test]
fn arguments_decide_the_levels() {
    check_levels("os.chmod(p, 0o710)", "B103", Medium, High);
    check_levels("os.chmod(p, 0o702)", "B103", High, High);
    check_levels("import tarfile\nt.extractall(members=safe(t))", "B202", Low, Low);
    check_levels("import tarfile\nt.extractall(members=m)", "B202", Medium, Medium);
    check_levels("import tarfile\nt.extractall()", "B202", High, High);
    check_levels("subprocess.run('/bin/ls', shell=True)", "B602", Low, High);
    check_levels("subprocess.run(x, shell=True)", "B602", High, High);
    check_levels("os.system('ls')", "B605", Low, High);
    check_levels("os.system(f'ls')", "B605", High, High);
    check_levels("from Crypto.PublicKey import DSA\nDSA.generate(bits=512)", "B505", High, High);
    check_levels("from Crypto.PublicKey import DSA\nDSA.generate(2047)", "B505", Medium, High);
    check_levels("crypt.crypt(x, crypt.METHOD_MD5)", "B324", Medium, High);
    check_levels("hashlib.new('SHA1')", "B324", High, High);
    check_levels("ssl.wrap_socket(ssl_version=ssl.PROTOCOL_SSLv2)", "B502", High, High);
    check_levels("f(method=SSLv3_METHOD)", "B502", Medium, Medium);
    check_levels("import jinja2\njinja2.Environment(autoescape=x)", "B701", High, Medium);
    check_levels("import jinja2\njinja2.Environment(f(autoescape=False))", "B701", High, High);
}

#[test]
fn text_is_safe_when_every_assignment_is_literal() {
    let check = |body: &str, expected: &[(&str, u32)]| {
        let found = scan(&format!("import django.utils.safestring\n{body}"));
        let found: Vec<_> = found.iter().map(|finding| (finding.id.as_str(), finding.line)).collect();
        assert_eq!(found, expected, "{body}");
    };
    check("def f(x):\n    mark_safe(x)", &[("B703", 3)]);
    check("def f(a):\n    if a: x = 'a'\n    elif b: x = 'b'\n    mark_safe(x)", &[]);
    check("def f(a):\n    if a: x = 'a'\n    else: x = a\n    mark_safe(x)", &[("B703", 5)]);
    check("x = '{} {}'.format('a', *['b'])\nmark_safe(x)\nx += y\nmark_safe(x)", &[("B703", 5)]);
    check("mark_safe('%s %s' % ('a', 'b'))\nmark_safe('%s' % y)", &[("B703", 3)]);
    check("with open(p) as x: pass\nmark_safe(x)", &[("B703", 3)]);
    check("a, b = 'x', y\nmark_safe(a)\nmark_safe(b)", &[("B703", 4)]);
}

#[test]
fn hostile_assignments_terminate() {
    let repeated = format!("import django.utils.safestring\n{}mark_safe(x)", "x = x\n".repeat(500));
    check(&repeated, &[("B703", 502)]);
    check("import django.utils.safestring\nx = (\n  x)\nmark_safe(x)", &[("B703", 4)]);
}

#[test]
fn comments_suppress_findings() {
    check("assert x  # nosec\nassert x  # nosec: assert_used\nassert x  # nosec B102", &[("B101", 3)]);
    check("x = '# nosec'; assert x", &[("B101", 1)]);
    // The first comment on the lines of a construct decides, independent of the line of the finding.
    check("assert x, (  # nosec B102\n  1)  # nosec", &[("B101", 1)]);
    check("f(  # nosec B101\n  password='x')  # nosec B106", &[]);
    check("f(\n  a='/tmp')  # nosec\nf(\n  a='/tmp',\n)  # nosec", &[("B108", 4)]);
    check("try: f()\nexcept:\n    pass  # nosec B110", &[]);
    check("def f(password='x'):\n    return 1  # nosec", &[]);
    check("x = 1  # nosec\ny = '\u{2066}'", &[]);
}

#[test]
fn broken_code_yields_findings_of_the_parsed_parts() {
    check("assert x\ndef (:\nimport pickle\n@", &[("B101", 1), ("B403", 3)]);
    for snippet in [
        "f(",
        "from . import",
        "x = f'{",
        "x[",
        "def f(password=",
        "import",
        "with open(",
        "'a' % ",
        "a.",
        "@\n",
    ] {
        scan(snippet);
    }
}
