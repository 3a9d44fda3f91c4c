//! Signatures of requests according to Standard Webhooks.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::webhook::WebhookSecret;

/// The value of `webhook-signature`: one signature for each secret, separated by spaces.
///
/// # Errors
/// A stored secret is not `whsec_` and base64.
pub(crate) fn signatures(
    secrets: &[&WebhookSecret],
    id: &str,
    timestamp: u64,
    body: &str,
) -> Result<String, &'static str> {
    let signed = format!("{id}.{timestamp}.{body}");
    let signature = |secret: &&WebhookSecret| -> Result<String, &'static str> {
        let key = secret.reveal().strip_prefix("whsec_").and_then(|text| STANDARD.decode(text).ok());
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key.ok_or("a stored secret is not base64")?);
        Ok(format!("v1,{}", STANDARD.encode(hmac::sign(&key, signed.as_bytes()))))
    };
    Ok(secrets.iter().map(signature).collect::<Result<Vec<_>, _>>()?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn signatures_are_those_of_the_specification() {
        let secret = WebhookSecret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let body = r#"{"test": 2432232314}"#;
        let signed = signatures(&[&secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signed, Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned()));
        let other = WebhookSecret::new("whsec_AAAA".to_owned());
        let both = signatures(&[&other, &secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(both.unwrap().split(' ').nth(1), signed.as_deref().ok());
        let broken = WebhookSecret::new("whsec_?".to_owned());
        assert!(signatures(&[&broken], "id", 0, body).is_err());
    }
}
