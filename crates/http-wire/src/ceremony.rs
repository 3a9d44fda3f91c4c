//! What a browser keeps of a ceremony with a passkey: a text that only this server can read, so any server can complete the
//! ceremony.

use domain::login::KeptCeremony;
use domain::time::Timestamp;

use crate::cursor::CursorSeal;

/// Seals a ceremony for this purpose.
pub fn close(seal: &CursorSeal, purpose: &str, kept: &KeptCeremony) -> String {
    seal.close_text(purpose, &format!("{}\n{}", kept.expires_at.micros(), kept.state))
}

/// Opens what was sealed for this purpose; `None` if it was altered in any way.
pub fn open(seal: &CursorSeal, purpose: &str, sealed: &str) -> Option<KeptCeremony> {
    let text = seal.open_text(purpose, sealed)?;
    let (expires_at, state) = text.split_once('\n')?;
    let expires_at = Timestamp::from_micros(expires_at.parse().ok()?);
    Some(KeptCeremony { state: state.to_owned(), expires_at })
}

#[cfg(test)]
mod tests {
    use domain::secret::Secret;

    use super::*;

    #[test]
    fn a_ceremony_is_opened_for_its_purpose_only() {
        let seal = CursorSeal::new(Secret([7; 32]));
        let kept = KeptCeremony { state: "state".to_owned(), expires_at: Timestamp::from_micros(-7) };
        let sealed = close(&seal, "log-in", &kept);
        assert_eq!(open(&seal, "log-in", &sealed), Some(kept));
        assert_eq!(open(&seal, "other", &sealed), None);
        for text in ["", "state", "x\nstate"] {
            assert_eq!(open(&seal, "log-in", &seal.close_text("log-in", text)), None, "{text}");
        }
    }
}
