//! Answers that all who look share: what fifty pages ask at the same time is found out once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, response};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::OnceCell;

use crate::error::ApiError;

/// How long an answer is good enough for the next one who asks, if nothing happens.
const FRESH: Duration = Duration::from_millis(500);
/// One that is slow to make is kept for so many times as long, within limits: it is not made again and again while nothing happens.
const REST: u32 = 20;
const LONGEST: Duration = Duration::from_secs(5);

/// What was answered lately.
#[derive(Default)]
pub(super) struct Answers {
    kept: Mutex<HashMap<String, Arc<Kept>>>,
    /// Counts what happened: an answer from before is none for those who ask after it.
    happened: AtomicU64,
}

#[derive(Default)]
struct Kept {
    happened: u64,
    answer: OnceCell<Answer>,
}

#[derive(Clone)]
struct Answer {
    parts: response::Parts,
    body: Bytes,
    until: Instant,
}

impl Answers {
    /// Something has happened: whoever asks from now on hears what is so now.
    pub(super) fn forget(&self) {
        self.happened.fetch_add(1, Ordering::AcqRel);
    }

    /// The one for a question, which one of those who ask at the same time has to answer.
    fn of(&self, question: &str) -> Arc<Kept> {
        let happened = self.happened.load(Ordering::Acquire);
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, one| {
            one.happened == happened && one.answer.get().is_none_or(|known| now < known.until)
        });
        let new = || Arc::new(Kept { happened, ..Kept::default() });
        Arc::clone(kept.entry(question.to_owned()).or_insert_with(new))
    }
}

/// Answers what somebody else has just asked with what that one heard.
pub(super) async fn share(State(answers): State<Arc<Answers>>, request: Request, next: Next) -> Response {
    if !request.method().is_safe() {
        let answer = next.run(request).await;
        answers.forget();
        return answer;
    }
    // A stream has no end, and everybody's begins elsewhere.
    if request.method() != Method::GET || request.uri().path().ends_with("/stream") {
        return next.run(request).await;
    }
    let question = request.uri().to_string();
    let kept = answers.of(&question);
    match kept.answer.get_or_try_init(|| make(request, next)).await {
        Ok(Answer { parts, body, .. }) => Response::from_parts(parts.clone(), Body::from(body.clone())),
        Err(error) => error.into_response(),
    }
}

async fn make(request: Request, next: Next) -> Result<Answer, ApiError> {
    let began = Instant::now();
    let (parts, body) = next.run(request).await.into_parts();
    // It is one of ours, so it is as large as it has to be.
    let body = to_bytes(body, usize::MAX).await.map_err(|error| ApiError::internal(error.to_string()))?;
    let now = Instant::now();
    // What is missing may be there in a moment.
    let good =
        if parts.status.is_success() { (REST * (now - began)).clamp(FRESH, LONGEST) } else { Duration::ZERO };
    Ok(Answer { parts, body, until: now + good })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    /// Something that counts how often it is asked, and those who share its answers.
    fn counting(answers: &Arc<Answers>, status: StatusCode) -> Router {
        let asked = Arc::new(AtomicU64::new(0));
        let count = move || async move { (status, asked.fetch_add(1, Ordering::AcqRel).to_string()) };
        Router::new()
            .route("/", get(count).post(|| async {}))
            .layer(from_fn_with_state(Arc::clone(answers), share))
    }

    async fn asked(router: &Router, method: Method, uri: &str) -> String {
        let request = Request::builder().method(method).uri(uri).body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        String::from_utf8(to_bytes(answer.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn who_asks_the_same_hears_the_same_until_something_happens() {
        let answers = Arc::new(Answers::default());
        let router = counting(&answers, StatusCode::OK);
        let both = tokio::join!(asked(&router, Method::GET, "/"), asked(&router, Method::GET, "/"));
        assert_eq!(both, ("0".to_owned(), "0".to_owned()));
        assert_eq!(asked(&router, Method::GET, "/?other").await, "1");
        answers.forget();
        assert_eq!(asked(&router, Method::GET, "/").await, "2");
        assert_eq!(asked(&router, Method::GET, "/").await, "2");
        asked(&router, Method::POST, "/").await;
        assert_eq!(asked(&router, Method::GET, "/").await, "3", "who changes something sees the change");
    }

    #[tokio::test]
    async fn what_is_missing_is_looked_for_again() {
        let router = counting(&Arc::default(), StatusCode::NOT_FOUND);
        assert_eq!(asked(&router, Method::GET, "/").await, "0");
        assert_eq!(asked(&router, Method::GET, "/").await, "1");
    }
}
