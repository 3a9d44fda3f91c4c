//! Where the panes are.

use ratatui::layout::Rect;

use super::Pane;

/// With fewer columns, one pane has the whole screen.
const NARROW: u16 = 64;

/// With fewer rows, work is only shown if it has the focus.
const LOW: u16 = 16;

/// The places of the panes that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Areas {
    pub(super) rooms: Option<Rect>,
    pub(super) messages: Option<Rect>,
    pub(super) work: Option<Rect>,
    /// The last row.
    pub(super) status: Rect,
}

/// The places on a screen of this size, with this many rows of work.
pub(super) fn areas((columns, rows): (u16, u16), focus: Pane, work_rows: usize) -> Areas {
    let status = Rect::new(0, rows.saturating_sub(1), columns, rows.min(1));
    let whole = Rect::new(0, 0, columns, rows.saturating_sub(1));
    let only = |pane| (focus == pane).then_some(whole);
    if columns < NARROW || (rows < LOW && focus == Pane::Work) {
        let (rooms, messages, work) = (only(Pane::Rooms), only(Pane::Messages), only(Pane::Work));
        return Areas { rooms, messages, work, status };
    }
    let work_height = if rows < LOW {
        0
    } else {
        // Two rows of borders, and a heading.
        let wanted = u16::try_from(work_rows).unwrap_or(u16::MAX).saturating_add(3);
        let share = if focus == Pane::Work { whole.height / 2 } else { whole.height / 3 };
        wanted.clamp(4, share.max(4))
    };
    let above = whole.height - work_height;
    let left = (columns * 3 / 10).clamp(24, 40);
    Areas {
        rooms: Some(Rect::new(0, 0, left, above)),
        messages: Some(Rect::new(left, 0, columns - left, above)),
        work: (work_height > 0).then(|| Rect::new(0, above, columns, work_height)),
        status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a screen of any size, panes do not overlap and do not leave it.
    #[test]
    fn panes_fit_any_screen() {
        for columns in 0..140 {
            for rows in 0..50 {
                for focus in [Pane::Rooms, Pane::Messages, Pane::Work] {
                    let areas = areas((columns, rows), focus, 7);
                    let shown = [areas.rooms, areas.messages, areas.work, Some(areas.status)];
                    let shown = shown.into_iter().flatten().collect::<Vec<_>>();
                    let screen = Rect::new(0, 0, columns, rows);
                    assert!(shown.iter().all(|area| screen.intersection(*area) == *area), "{areas:?}");
                    let cells = shown.iter().map(|area| area.area()).sum::<u32>();
                    assert_eq!(cells, screen.area(), "{columns} {rows} {areas:?}");
                    let own = match focus {
                        Pane::Rooms => areas.rooms,
                        Pane::Messages => areas.messages,
                        Pane::Work => areas.work,
                    };
                    assert!(own.is_some(), "{columns} {rows} {areas:?}");
                }
            }
        }
    }
}
