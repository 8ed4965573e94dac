//! Response cache: a query that fifty pages send at the same time is computed once.

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

/// Minimum time a response is cached, unless an event arrives.
const MIN_AGE: Duration = Duration::from_millis(500);
/// A slow response is cached for this multiple of its computation time, at most `MAX_AGE`, so that it is not recomputed
/// continuously while nothing changes.
const AGE_FACTOR: u32 = 20;
const MAX_AGE: Duration = Duration::from_secs(5);

/// Recent responses.
#[derive(Default)]
pub(super) struct ResponseCache {
    kept: Mutex<HashMap<String, Arc<ResponseCacheEntry>>>,
    /// Number of invalidations: a response computed before the last one is not used.
    happened: AtomicU64,
}

#[derive(Default)]
struct ResponseCacheEntry {
    happened: u64,
    answer: OnceCell<CachedResponse>,
}

#[derive(Clone)]
struct CachedResponse {
    parts: response::Parts,
    body: Bytes,
    until: Instant,
}

impl ResponseCache {
    /// Invalidates all cached responses.
    pub(super) fn forget(&self) {
        self.happened.fetch_add(1, Ordering::AcqRel);
    }

    /// Cache entry of a query. Of concurrent requests only one computes the response.
    fn of(&self, query: &str) -> Arc<ResponseCacheEntry> {
        let happened = self.happened.load(Ordering::Acquire);
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, one| {
            one.happened == happened && one.answer.get().is_none_or(|known| now < known.until)
        });
        let new = || Arc::new(ResponseCacheEntry { happened, ..ResponseCacheEntry::default() });
        Arc::clone(kept.entry(query.to_owned()).or_insert_with(new))
    }
}

/// Middleware that shares responses between requests with the same URL.
pub(super) async fn share(
    State(answers): State<Arc<ResponseCache>>,
    request: Request,
    next: Next,
) -> Response {
    if !request.method().is_safe() {
        let answer = next.run(request).await;
        answers.forget();
        return answer;
    }
    // Streams never end, and each client starts at a different event.
    if request.method() != Method::GET || request.uri().path().ends_with("/stream") {
        return next.run(request).await;
    }
    let query = request.uri().to_string();
    let kept = answers.of(&query);
    match kept.answer.get_or_try_init(|| compute_response(request, next)).await {
        Ok(CachedResponse { parts, body, .. }) => {
            Response::from_parts(parts.clone(), Body::from(body.clone()))
        }
        Err(error) => error.into_response(),
    }
}

async fn compute_response(request: Request, next: Next) -> Result<CachedResponse, ApiError> {
    let began = Instant::now();
    let (parts, body) = next.run(request).await.into_parts();
    // The response comes from our own handlers, so its size needs no limit.
    let body = to_bytes(body, usize::MAX).await.map_err(|error| ApiError::internal(error.to_string()))?;
    let now = Instant::now();
    // Errors are not cached, because missing data may appear at any time.
    let age = if parts.status.is_success() {
        (AGE_FACTOR * (now - began)).clamp(MIN_AGE, MAX_AGE)
    } else {
        Duration::ZERO
    };
    Ok(CachedResponse { parts, body, until: now + age })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    /// Router whose handler counts its calls, behind the cache.
    fn counting(answers: &Arc<ResponseCache>, status: StatusCode) -> Router {
        let calls = Arc::new(AtomicU64::new(0));
        let count = move || async move { (status, calls.fetch_add(1, Ordering::AcqRel).to_string()) };
        Router::new()
            .route("/", get(count).post(|| async {}))
            .layer(from_fn_with_state(Arc::clone(answers), share))
    }

    async fn response_of(router: &Router, method: Method, uri: &str) -> String {
        let request = Request::builder().method(method).uri(uri).body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        String::from_utf8(to_bytes(answer.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn equal_requests_share_a_response_until_it_is_invalidated() {
        let answers = Arc::new(ResponseCache::default());
        let router = counting(&answers, StatusCode::OK);
        let both =
            tokio::join!(response_of(&router, Method::GET, "/"), response_of(&router, Method::GET, "/"));
        assert_eq!(both, ("0".to_owned(), "0".to_owned()));
        assert_eq!(response_of(&router, Method::GET, "/?other").await, "1");
        answers.forget();
        assert_eq!(response_of(&router, Method::GET, "/").await, "2");
        assert_eq!(response_of(&router, Method::GET, "/").await, "2");
        response_of(&router, Method::POST, "/").await;
        assert_eq!(response_of(&router, Method::GET, "/").await, "3", "a change invalidates the cache");
    }

    #[tokio::test]
    async fn errors_are_not_cached() {
        let router = counting(&Arc::default(), StatusCode::NOT_FOUND);
        assert_eq!(response_of(&router, Method::GET, "/").await, "0");
        assert_eq!(response_of(&router, Method::GET, "/").await, "1");
    }
}
