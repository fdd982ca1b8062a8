//! One request and its answer.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, SEC_WEBSOCKET_EXTENSIONS, TRANSFER_ENCODING,
};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Version};
use tokio::sync::Mutex;

use crate::answer::Answer;
use crate::approval::Wanted;
use crate::body::Passed;
use crate::broker::Broker;
use crate::connection::{Connection, Problem};
use crate::credential::Place;
use crate::request::{self, Unclear};
use crate::restore::{Restorer, Searches};
use crate::rule::has_one_form;
use crate::runtime;
use crate::swap::{Found, Written};
use crate::transform::Transform;
use crate::uses::{Meter, Noted, Why};
use crate::websocket;

pub(crate) type Reply = Response<Either<Full<Bytes>, Passed>>;

/// An answer of this process, and why there is none of the host.
struct Refused(Answer, Why);

/// What a request has of credentials.
#[derive(Default)]
struct Swapped {
    credentials: Vec<usize>,
    written: Vec<Written>,
}

/// Sends a request on, and answers it. An error ends the connection.
pub(crate) async fn answer(
    connection: Arc<Connection>,
    mut request: Request<Incoming>,
) -> Result<Reply, hyper::Error> {
    let (host, port) = (&*connection.host, connection.port);
    let mut noted = Noted::new(host, port, request.method().as_str(), request.uri().path());
    let meter = Arc::new(Meter::default());
    let upgrade =
        request::is_for_websockets(request.headers()).then(|| hyper::upgrade::on(&mut request));
    let (mut parts, body) = request.into_parts();
    let prepared = prepare(&connection, &mut parts, &mut noted).await;
    let swapped = match prepared {
        Ok(swapped) => swapped,
        Err(Refused(answer, why)) => {
            connection.uses.note(&noted, Err(why), &meter);
            return Ok(reply(answer));
        }
    };
    let has_credential = !noted.credential.is_empty();
    let mut sender = connection.sender.lock().await;
    let sender = match &mut *sender {
        Ok(sender) => sender,
        Err(problem) => {
            if has_credential {
                connection.uses.note(&noted, Ok(None), &meter);
            }
            return Ok(reply(problem.answer(host)));
        }
    };
    write_anew(&mut parts, upgrade.is_some());
    let request = Request::from_parts(parts, Passed::up(body, Arc::clone(&meter)));
    // The connection has to have taken in the end of the last answer.
    let sent = match sender.ready().await {
        Ok(()) => sender.send_request(request).await,
        Err(error) => Err(error),
    };
    if has_credential {
        let status = sent.as_ref().ok().map(|response| response.status().as_u16());
        connection.uses.note(&noted, Ok(status), &meter);
    }
    let mut response = sent?;
    if response.status() == StatusCode::UNAUTHORIZED {
        for index in &swapped.credentials {
            connection.broker.forget(*index).await;
        }
    }
    let is_upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let searches = connection.broker.searches(swapped.written);
    if is_upgraded && let Some(upgrade) = upgrade {
        let other = hyper::upgrade::on(&mut response);
        let (searches, meter) = (Arc::clone(&searches), Arc::clone(&meter));
        tokio::spawn(websocket::carry(upgrade, other, searches, meter));
    }
    Ok(restored(response, searches, meter, is_upgraded))
}

/// Replaces the headers of the connection with the command by those of the connection with the host.
fn write_anew(parts: &mut Parts, is_upgrade: bool) {
    let Parts { headers, version, .. } = parts;
    let is_chunked = headers.contains_key(TRANSFER_ENCODING);
    request::strip_connection(headers, is_upgrade);
    // What the host repeats of a value is found in what is not compressed alone.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.remove(SEC_WEBSOCKET_EXTENSIONS);
    if is_chunked {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    *version = Version::HTTP_11;
}

impl Broker {
    /// The head of a request as it would be sent to a host, or what the command would read in place of an answer. Nothing is sent.
    pub async fn rewritten(
        self: &Arc<Self>,
        host: &str,
        port: u16,
        request: Request<()>,
    ) -> Result<Request<()>, String> {
        let mut noted = Noted::new(host, port, request.method().as_str(), request.uri().path());
        let (mut parts, ()) = request.into_parts();
        let connection = Connection {
            broker: Arc::clone(self),
            host: host.to_owned(),
            port,
            uses: Arc::default(),
            approvals: None,
            sender: Mutex::new(Err(Problem::Unreachable(String::new()))),
        };
        let is_upgrade = request::is_for_websockets(&parts.headers);
        let prepared = prepare(&connection, &mut parts, &mut noted).await;
        prepared.map_err(|Refused(answer, _)| answer.text)?;
        write_anew(&mut parts, is_upgrade);
        Ok(Request::from_parts(parts, ()))
    }
}

/// Checks a request, and gives it its credentials.
async fn prepare(
    connection: &Connection,
    parts: &mut Parts,
    noted: &mut Noted,
) -> Result<Swapped, Refused> {
    let Connection { broker, host, port, .. } = connection;
    request::check(parts, host, *port)
        .map_err(|unclear| Refused(Answer::unclear(unclear), Why::Unclear))?;
    let Parts { method, uri, headers, .. } = parts;
    let target = (uri.path(), uri.query());
    // They are compared with what the command has sent.
    let is_another = request::is_for_another(headers);
    let fits = |one: &&Transform| !is_another && one.fits(method.as_str(), target, headers);
    let transforms: Vec<&Transform> = broker.transforms_of(host, *port).filter(fits).collect();
    let target = (method.as_str(), uri.path());
    let swapped = swap(connection, target, headers, noted).await?;
    for transform in transforms {
        transform.apply(headers);
        noted.add(&transform.names().collect::<Vec<_>>().join(", "));
    }
    Ok(swapped)
}

/// Puts values in the place of placeholders, where rules allow it. Gives what was written.
async fn swap(
    connection: &Connection,
    (method, path): (&str, &str),
    headers: &mut HeaderMap,
    noted: &mut Noted,
) -> Result<Swapped, Refused> {
    let Connection { broker, host, port, .. } = connection;
    let unclear = |unclear| Refused(Answer::unclear(unclear), Why::Unclear);
    let of_host = broker.of_host(host, *port);
    let mut chosen: Vec<(usize, Found)> = Vec::new();
    let mut denied = None;
    for (index, credential) in of_host {
        let name = match &credential.place {
            Place::Header(name) => name.clone(),
            Place::Bearer | Place::Basic => AUTHORIZATION,
        };
        if headers.get_all(&name).iter().count() > 1 {
            return Err(unclear(Unclear::Twice));
        }
        let Some(found) = Found::of(credential, headers) else { continue };
        let has_rules = credential.only.is_some() || connection.approvals.is_some();
        if has_rules && request::is_for_another(headers) {
            return Err(unclear(Unclear::Other));
        }
        if !credential.allows(method, path) {
            denied = denied.or(Some(credential));
        } else if chosen.iter().all(|(_, other)| !other.is_beside(&found)) {
            chosen.push((index, found));
        }
    }
    // Another credential of the same variable may allow what this one does not.
    let is_allowed = |variable: &str| {
        chosen.iter().any(|(index, _)| broker.credential(*index).variable == variable)
    };
    if let Some(credential) = denied.filter(|credential| !is_allowed(&credential.variable)) {
        credential.variable.clone_into(&mut noted.credential);
        let request = format!("{method} https://{host}{}", noted.path);
        let answer = Answer::not_allowed(&credential.variable, &request, &credential.rules());
        return Err(Refused(answer, Why::Rule));
    }
    for (index, _) in &chosen {
        let credential = broker.credential(*index).variable.clone();
        let (host, path, method) = (host.clone(), path.to_owned(), method.to_owned());
        let shown = format!("{method} https://{host}{}", noted.path);
        let wanted =
            Wanted { credential, host, port: *port, method, is_plain: has_one_form(&path), path };
        if let Some(why) = connection.refusal(wanted).await {
            let variable = &broker.credential(*index).variable;
            variable.clone_into(&mut noted.credential);
            return Err(Refused(Answer::rejected(variable, &shown, &why), Why::Rejected));
        }
    }
    let mut all = Swapped::default();
    for (index, found) in chosen {
        let credential = broker.credential(index);
        noted.add(&credential.variable);
        let no_value = || Refused(Answer::no_value(&credential.variable), Why::NoValue);
        let value = broker.value(index).await.ok_or_else(no_value)?;
        let written = found.write(headers, &credential.placeholder, &value);
        all.written.extend(written.ok_or_else(no_value)?);
        all.credentials.push(index);
    }
    Ok(all)
}

/// An answer of the host, without what it repeats of values.
fn restored(
    response: Response<Incoming>,
    searches: Arc<Searches>,
    meter: Arc<Meter>,
    is_upgraded: bool,
) -> Reply {
    let (mut parts, body) = response.into_parts();
    request::strip_connection(&mut parts.headers, is_upgraded);
    // Names are in small letters here.
    let named: Vec<HeaderName> =
        parts.headers.keys().filter(|name| searches.is_in_name(name.as_str())).cloned().collect();
    for name in named {
        parts.headers.remove(name);
    }
    for value in parts.headers.values_mut() {
        if let Some(clean) = searches.whole(value.as_bytes()) {
            *value = HeaderValue::from_bytes(&clean)
                .unwrap_or_else(|_| HeaderValue::from_static("removed"));
        }
    }
    // A reason may be anything.
    parts.extensions.remove::<hyper::ext::ReasonPhrase>();
    let restorer = Restorer::new(searches);
    if !restorer.keeps_length() && !body.is_end_stream() {
        parts.headers.remove(CONTENT_LENGTH);
    }
    let hosts = runtime::of_hosts().ok();
    let body = Passed::down(body, meter, restorer, hosts.as_ref());
    Response::from_parts(parts, Either::Right(body))
}

/// An answer of this process.
pub(crate) fn reply(Answer { status, text }: Answer) -> Reply {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests;
