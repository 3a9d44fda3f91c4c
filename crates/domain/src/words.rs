//! Enums that are words: on the wire, in the stores, and on the bus.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{self, Visitor};

/// Declares enums whose variants each have one word, with `ALL`, `WORDS`, `as_str`, `parse`, and
/// serde as that word.
///
/// Further derives are attributes of the enum, `#[default]` one of a variant.
macro_rules! words {
    ($($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name {
            $($(#[$word_meta])* $variant,)+
        }

        impl $name {
            /// All of them, as the wire and the stores write them.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// All of them.
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            /// The word that the wire and the stores use.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Reads [`Self::as_str`] back.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::words::from_text(deserializer, Self::parse)
            }
        }
    )+};
}

pub(crate) use words;

/// Reads a text that `parse` accepts.
pub(crate) fn from_text<'de, T, D, P>(deserializer: D, parse: P) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    P: FnOnce(&str) -> Option<T>,
{
    struct Text<T, P>(P, PhantomData<T>);

    impl<T, P: FnOnce(&str) -> Option<T>> Visitor<'_> for Text<T, P> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(std::any::type_name::<T>())
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text)
                .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &std::any::type_name::<T>()))
        }
    }

    deserializer.deserialize_str(Text(parse, PhantomData))
}

#[cfg(test)]
mod tests {
    use crate::memory::MemorySystem;
    use crate::page::Order;

    #[test]
    fn a_word_is_read_back_and_no_other() {
        assert_eq!(Order::default(), Order::Ascending);
        for (system, word) in MemorySystem::ALL.into_iter().zip(["sensory", "working", "long_term"]) {
            assert_eq!((system.as_str(), MemorySystem::parse(word)), (word, Some(system)));
            let json = serde_json::to_string(&system).unwrap();
            assert_eq!(json, format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<MemorySystem>(&json).unwrap(), system);
        }
        assert_eq!(MemorySystem::parse("LongTerm"), None);
        for other in ["\"short_term\"", "{\"working\":null}", "1", "null"] {
            assert!(serde_json::from_str::<MemorySystem>(other).is_err(), "{other}");
        }
    }
}
