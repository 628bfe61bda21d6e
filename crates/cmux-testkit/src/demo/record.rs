//! Lines that are on the disk before anything is said of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::Value;

/// Appends `value` to the file at `path` as one line, and returns when the disk has it.
///
/// A line that was cut off before is ended first, so that it harms only itself.
pub(crate) fn append(path: &Path, value: &Value) -> io::Result<()> {
    let is_new = !path.exists();
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut line = if is_cut_off(&mut file)? { "\n".to_owned() } else { String::new() };
    line.push_str(&value.to_string());
    line.push('\n');
    // In one go: whoever else appends to it has lines of their own.
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    if let Some(folder) = path.parent().filter(|_| is_new) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn is_cut_off(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
#[cfg(feature = "kit")]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn each_line_is_whole_even_after_one_that_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        append(&path, &json!({ "prompt": "a\nb" })).unwrap();
        fs::write(&path, "{\"pro").unwrap();
        append(&path, &json!(2)).unwrap();
        append(&path, &json!(3)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"pro\n2\n3\n");
        assert!(append(&folder.path().join("no/such"), &json!(1)).is_err());
    }
}
