//! Columns of text, padded by characters.

/// Rows under headings, two spaces apart; the last column is not padded.
pub(crate) fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let mut out = String::new();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A cell of a Markdown table: on one line, and unable to end its cell.
pub(crate) fn markdown_cell(text: &str) -> String {
    let text = super::safe(text).replace(['\n', '\t'], " ");
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('`', "'")
}

/// A Markdown table.
pub(crate) fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), " --- |".repeat(head.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| markdown_cell(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_characters() {
        let rows = [
            vec!["é".to_owned(), "1".to_owned()],
            vec!["long".to_owned(), "2".to_owned()],
        ];
        assert_eq!(columns(&["a", "b"], &rows), "a     b\né     1\nlong  2\n");
    }

    #[test]
    fn a_cell_cannot_break_out_of_its_table() {
        let table = markdown(&["a"], &[vec!["x | y\n| z | <script>".to_owned()]]);
        assert_eq!(table.lines().count(), 3, "{table}");
        assert!(!table.contains("<script>") && table.contains("x \\| y"), "{table}");
    }
}
