//! When the guard passes and when it fails.

use super::*;

fn tools() -> Tools {
    Tools {
        rustc: "rustc 1.95.0 (59807616e 2026-04-14)".to_owned(),
        cc: "cc (Debian 12.2.0-14+deb12u1) 12.2.0".to_owned(),
        target: "x86_64-unknown-linux-gnu".to_owned(),
    }
}

fn figures(instructions: &[(&str, u64)]) -> Figures {
    let instructions = instructions.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect();
    Figures { taken_with: tools(), instructions }
}

fn faults(kept: u64, counted: u64) -> Vec<Fault> {
    compare(&figures(&[("send", kept)]), &figures(&[("send", counted)]))
}

#[test]
fn five_per_cent_either_way_are_let_through_and_no_more() {
    for fine in [95_000, 95_100, 100_000, 104_900, 105_000] {
        assert_eq!(faults(100_000, fine), [], "{fine}");
    }
    for (counted, more) in [(105_001, true), (105_100, true), (94_999, false), (94_900, false), (0, false)] {
        let path = "send".to_owned();
        let fault = if more {
            Fault::More { path, kept: 100_000, counted }
        } else {
            Fault::Less { path, kept: 100_000, counted }
        };
        assert_eq!(faults(100_000, counted), [fault]);
    }
    assert_ne!(faults(0, 1), [], "nothing is no figure");
}

#[test]
fn each_path_is_looked_at() {
    let kept = figures(&[("next", 200), ("push", 50), ("send", 1000)]);
    let counted = figures(&[("fanout", 9), ("next", 212), ("send", 1000)]);
    let said = compare(&kept, &counted).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].starts_with("fanout takes 9 instructions, and no figure is checked in"), "{}", said[0]);
    assert!(said[1].starts_with("next takes 212 instructions, +6.0 % more than the 200"), "{}", said[1]);
    assert!(said[2].starts_with("push is checked in, but nothing of that name is counted"), "{}", said[2]);
    assert!(said.iter().all(|said| said.contains("scripts/guard --renew")), "{said:?}");
}

#[test]
fn what_got_better_asks_for_new_figures() {
    let said = faults(1000, 900)[0].to_string();
    assert!(said.contains("-10.0 %") && said.contains("scripts/guard --renew"), "{said}");
}

#[test]
fn figures_of_other_tools_do_not_apply() {
    let kept = figures(&[]);
    let here = |change: &dyn Fn(&mut Tools)| {
        let mut tools = tools();
        change(&mut tools);
        same_tools(&kept, &tools)
    };
    assert_eq!(here(&|_| ()), Ok(()));
    assert_eq!(here(&|tools| tools.rustc = "rustc 1.95.3 (0123456789 2026-06-01)".to_owned()), Ok(()));
    assert_eq!(here(&|tools| tools.cc = "cc (GCC) 12.4.0 20250101".to_owned()), Ok(()));
    for other in [
        here(&|tools| tools.rustc = "rustc 1.96.0 (0123456789 2026-06-01)".to_owned()),
        here(&|tools| tools.rustc = "rustc 2.95.0 (0123456789 2026-06-01)".to_owned()),
        here(&|tools| tools.rustc = String::new()),
        here(&|tools| tools.cc = "cc (Debian 14.2.0-19) 14.2.0".to_owned()),
        here(&|tools| tools.target = "aarch64-unknown-linux-gnu".to_owned()),
    ] {
        let said = other.unwrap_err();
        assert!(said.contains("do not apply") && said.contains("scripts/guard --renew"), "{said}");
    }
}

#[test]
fn what_is_written_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("instructions.json");
    assert!(Figures::read(&place).unwrap_err().contains("scripts/guard --renew"), "it is not there");
    let figures = figures(&[("send", 1), ("next", 2)]);
    figures.write(&place).unwrap();
    assert_eq!(Figures::read(&place).unwrap(), figures);
    fs::write(&place, "{}").unwrap();
    assert!(Figures::read(&place).unwrap_err().contains("scripts/guard --renew"), "it is something else");
}

/// Else `--renew` was forgotten when a path came or went.
#[test]
fn the_checked_in_figures_are_of_all_paths() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json");
    let kept = Figures::read(&place).unwrap();
    let mut names = crate::walk::Path::ALL.map(crate::walk::Path::name);
    names.sort_unstable();
    assert!(kept.instructions.keys().eq(&names), "{:?}", kept.instructions);
}
