//! DNS queries and responses.

use std::net::IpAddr;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{DNSClass, RData, Record, RecordType};

/// TTL of answers, in seconds. The addresses of a name do not change while a sandbox lives.
const TIME_TO_LIVE: u32 = 300;

/// Query of a program.
#[derive(Debug, Clone)]
pub(crate) struct DnsQuestion {
    id: u16,
    query: Query,
    recursion: bool,
    /// Name in lowercase, without the trailing dot.
    pub(crate) name: String,
}

/// Response before it is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DnsReply {
    /// Addresses of the name. Those of the other IP version than the query's are left out.
    Addresses(Vec<IpAddr>),
    /// NXDOMAIN: the name does not exist.
    NoSuchName,
    /// SERVFAIL: the name server did not answer.
    Failure,
}

impl DnsQuestion {
    /// Decodes a query; `None` if the bytes are not a valid one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let message = Message::from_vec(bytes).ok()?;
        let is_question = message.metadata.message_type == MessageType::Query
            && message.metadata.op_code == OpCode::Query
            && message.queries.len() == 1;
        let query =
            message.queries.first().filter(|query| is_question && query.query_class == DNSClass::IN)?.clone();
        let text = query.name.to_ascii().to_ascii_lowercase();
        let name = text.strip_suffix('.').unwrap_or(&text).to_owned();
        Some(Self { id: message.metadata.id, recursion: message.metadata.recursion_desired, query, name })
    }

    /// Whether the query is for A or AAAA records.
    pub(crate) fn is_for_addresses(&self) -> bool {
        matches!(self.query.query_type, RecordType::A | RecordType::AAAA)
    }

    /// Encodes the response.
    pub(crate) fn answer(&self, reply: &DnsReply) -> Option<Vec<u8>> {
        let mut message = Message::response(self.id, OpCode::Query);
        message.metadata.recursion_desired = self.recursion;
        message.metadata.recursion_available = true;
        message.add_query(self.query.clone());
        match reply {
            DnsReply::Addresses(addresses) => {
                let data = addresses.iter().filter_map(|address| self.data(*address));
                let record = |data| Record::from_rdata(self.query.name.clone(), TIME_TO_LIVE, data);
                message.add_answers(data.map(record).collect::<Vec<_>>());
            }
            DnsReply::NoSuchName => message.metadata.response_code = ResponseCode::NXDomain,
            DnsReply::Failure => message.metadata.response_code = ResponseCode::ServFail,
        }
        message.to_vec().ok()
    }

    fn data(&self, address: IpAddr) -> Option<RData> {
        match (self.query.query_type, address) {
            (RecordType::A, IpAddr::V4(address)) => Some(RData::A(A(address))),
            (RecordType::AAAA, IpAddr::V6(address)) => Some(RData::AAAA(AAAA(address))),
            _ => None,
        }
    }
}

/// Queries for the A and AAAA records of a name, for a name server; `None` if the name is invalid.
pub(crate) fn questions(name: &str, id: u16) -> Option<[Vec<u8>; 2]> {
    let name = hickory_proto::rr::Name::from_ascii(name).ok()?;
    let question = |kind, id| {
        let mut message = Message::new(id, MessageType::Query, OpCode::Query);
        message.metadata.recursion_desired = true;
        message.add_query(Query::query(name.clone(), kind));
        message.to_vec().ok()
    };
    Some([question(RecordType::A, id)?, question(RecordType::AAAA, id.wrapping_add(1))?])
}

/// Id and addresses of a name server's response; `None` if the bytes are not a valid one.
pub(crate) fn addresses(bytes: &[u8]) -> Option<(u16, Vec<IpAddr>)> {
    let message = Message::from_vec(bytes).ok()?;
    if message.metadata.message_type != MessageType::Response {
        return None;
    }
    let address = |record: &Record| match &record.data {
        RData::A(A(address)) => Some(IpAddr::V4(*address)),
        RData::AAAA(AAAA(address)) => Some(IpAddr::V6(*address)),
        _ => None,
    };
    Some((message.metadata.id, message.answers.iter().filter_map(address).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_the_addresses_of_the_queried_type() {
        let both: Vec<IpAddr> = vec!["1.2.3.4".parse().unwrap(), "2606::1".parse().unwrap()];
        for (number, asked) in questions("API.example.com", 7).unwrap().iter().enumerate() {
            let question = DnsQuestion::read(asked).unwrap();
            assert_eq!(question.name, "api.example.com");
            assert!(question.is_for_addresses());
            let answer = question.answer(&DnsReply::Addresses(both.clone())).unwrap();
            let id = 7 + u16::try_from(number).unwrap();
            assert_eq!(addresses(&answer), Some((id, vec![both[number]])));
            assert_eq!(addresses(&question.answer(&DnsReply::NoSuchName).unwrap()), Some((id, vec![])));
            assert_eq!(addresses(asked), None);
        }
    }

    #[test]
    fn invalid_queries_are_not_decoded() {
        assert!(DnsQuestion::read(b"").is_none() && DnsQuestion::read(&[0; 12]).is_none());
        let [question, _] = questions("example.com", 1).unwrap();
        for length in 0..question.len() {
            assert!(DnsQuestion::read(&question[..length]).is_none());
        }
        let answer = DnsQuestion::read(&question).unwrap().answer(&DnsReply::Failure).unwrap();
        assert!(DnsQuestion::read(&answer).is_none());
    }
}
