//! Modules whose import is a finding. The order decides which rule a statement that imports several is reported under.

use menace_model::inventory::FindingSeverity::{High, Low};

use super::blacklist::BlacklistRule;

pub(super) const IMPORTS: &[BlacklistRule] = &[
    BlacklistRule {
        id: "B401",
        name: "import_telnetlib",
        severity: High,
        message: "Telnet sends everything in clear text",
        qualified: &["telnetlib"],
    },
    BlacklistRule {
        id: "B402",
        name: "import_ftplib",
        severity: High,
        message: "FTP sends everything in clear text",
        qualified: &["ftplib"],
    },
    BlacklistRule {
        id: "B403",
        name: "import_pickle",
        severity: Low,
        message: "unpickling untrusted data can run arbitrary code",
        qualified: &["pickle", "cPickle", "dill", "shelve"],
    },
    BlacklistRule {
        id: "B404",
        name: "import_subprocess",
        severity: Low,
        message: "starts processes; check the source of their arguments",
        qualified: &["subprocess"],
    },
    BlacklistRule {
        id: "B405",
        name: "import_xml_etree",
        severity: Low,
        message: "vulnerable to XML attacks; use defusedxml",
        qualified: &["xml.etree.cElementTree", "xml.etree.ElementTree"],
    },
    BlacklistRule {
        id: "B406",
        name: "import_xml_sax",
        severity: Low,
        message: "vulnerable to XML attacks; use defusedxml",
        qualified: &["xml.sax"],
    },
    BlacklistRule {
        id: "B407",
        name: "import_xml_expat",
        severity: Low,
        message: "vulnerable to XML attacks; use defusedxml",
        qualified: &["xml.dom.expatbuilder"],
    },
    BlacklistRule {
        id: "B408",
        name: "import_xml_minidom",
        severity: Low,
        message: "vulnerable to XML attacks; use defusedxml",
        qualified: &["xml.dom.minidom"],
    },
    BlacklistRule {
        id: "B409",
        name: "import_xml_pulldom",
        severity: Low,
        message: "vulnerable to XML attacks; use defusedxml",
        qualified: &["xml.dom.pulldom"],
    },
    BlacklistRule {
        id: "B411",
        name: "import_xmlrpclib",
        severity: High,
        message: "vulnerable to XML attacks; patch it with defusedxml",
        qualified: &["xmlrpc"],
    },
    BlacklistRule {
        id: "B412",
        name: "import_httpoxy",
        severity: High,
        message: "CGI takes the HTTP_PROXY variable from the request (httpoxy)",
        qualified: &[
            "wsgiref.handlers.CGIHandler",
            "twisted.web.twcgi.CGIScript",
            "twisted.web.twcgi.CGIDirectory",
        ],
    },
    BlacklistRule {
        id: "B413",
        name: "import_pycrypto",
        severity: High,
        message: "pyCrypto is no longer maintained",
        qualified: &[
            "Crypto.Cipher",
            "Crypto.Hash",
            "Crypto.IO",
            "Crypto.Protocol",
            "Crypto.PublicKey",
            "Crypto.Random",
            "Crypto.Signature",
            "Crypto.Util",
        ],
    },
    BlacklistRule {
        id: "B415",
        name: "import_pyghmi",
        severity: High,
        message: "IPMI sends passwords in clear text",
        qualified: &["pyghmi"],
    },
];
