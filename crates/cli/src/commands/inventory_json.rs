//! The inventory as JSON. Writing its twenty megabytes takes most of the time after a scan, so modules are serialised
//! on all cores, a batch at a time, and written in order.

use std::io::{self, BufWriter, Write};

use menace_model::inventory::{Inventory, PythonModule};
use rayon::prelude::*;
use serde::Serialize;

use crate::terminal::unless_broken_pipe;

/// Modules per batch: enough work for every core, little enough to keep in memory.
const BATCH: usize = 256;

pub(super) fn print_inventory(inventory: &Inventory) -> anyhow::Result<()> {
    let mut stdout = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    unless_broken_pipe(write_inventory(&mut stdout, inventory).and_then(|()| stdout.flush()))
}

fn write_inventory(output: &mut impl Write, inventory: &Inventory) -> io::Result<()> {
    let Inventory { version, root, modules, cycles, import_time_cycles, orphans, diagnostics, statistics } =
        inventory;
    write!(output, "{{\"version\":{version}")?;
    field(output, "root", root)?;
    output.write_all(b",\"modules\":[")?;
    for (index, batch) in modules.chunks(BATCH).enumerate() {
        let texts: Vec<Vec<u8>> = batch.par_iter().map(json).collect::<io::Result<_>>()?;
        for (position, text) in texts.iter().enumerate() {
            let separator: &[u8] = if index + position == 0 { b"" } else { b"," };
            output.write_all(separator)?;
            output.write_all(text)?;
        }
    }
    output.write_all(b"]")?;
    field(output, "cycles", cycles)?;
    field(output, "import_time_cycles", import_time_cycles)?;
    field(output, "orphans", orphans)?;
    field(output, "diagnostics", diagnostics)?;
    field(output, "statistics", statistics)?;
    output.write_all(b"}\n")
}

fn json(module: &PythonModule) -> io::Result<Vec<u8>> {
    // Estimated from the number of sections; growing from zero would copy every text several times.
    let mut text = Vec::with_capacity(2048 + 640 * module.sections.len());
    serde_json::to_writer(&mut text, module).map_err(io::Error::from)?;
    Ok(text)
}

fn field(output: &mut impl Write, name: &str, value: &impl Serialize) -> io::Result<()> {
    write!(output, ",\"{name}\":")?;
    serde_json::to_writer(output, value).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use menace_analysis::scan::{ScanOptions, SilentScanObserver, scan};

    use super::*;

    #[test]
    fn batches_make_the_same_document_as_one_piece() {
        let directory = tempfile::tempdir().unwrap();
        for index in 0..BATCH * 2 + 3 {
            std::fs::write(directory.path().join(format!("m{index}.py")), "def f(a): return a\n").unwrap();
        }
        let scanned =
            scan(directory.path(), &ScanOptions::default(), &SilentScanObserver, || Err("no git".to_owned()))
                .unwrap();
        let mut written = Vec::new();
        write_inventory(&mut written, &scanned.inventory).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&written).unwrap();
        // Both are parsed from text, because parsing may change the last bit of a float.
        let in_one_piece = serde_json::to_vec(&scanned.inventory).unwrap();
        assert_eq!(read, serde_json::from_slice::<serde_json::Value>(&in_one_piece).unwrap());
    }
}
