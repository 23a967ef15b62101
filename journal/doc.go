// Package journal writes the output file of a batch so that an interrupted run resumes: it
// is started again with the same input and settings, and continues where it stopped, even
// after kill -9. The package does not depend on the content of rows beyond a line number
// and a verdict.
//
// Start with [Open], call [Journal.Begin] for each line of the input and [Journal.Write]
// for each result, then [Journal.Complete] and [Journal.Close]:
//
//	j, err := journal.Open("out.ndjson", journal.Config{Input: in})
//	if err != nil {
//		return err
//	}
//	defer j.Close()
//	for line, name := range names {
//		if needed, err := j.Begin(line); err != nil || !needed {
//			continue // it has its row from an earlier run
//		}
//		…
//		if err := j.Write(line, row); err != nil {
//			return err
//		}
//	}
//	return j.Complete()
//
// # Files
//
// The output has one row per line of the input: a JSON object with the members "line" and
// "verdict", or a CSV record with these columns. FILE.rdapq, the sidecar, identifies the
// input and the settings. For rows in order, FILE.rdapq-waiting has the rows that follow a
// missing one. A journal of the command rdapq has the same form.
//
// # Guarantees
//
// One row per line: a line never has two rows, however often the process is killed. Write
// refuses a second row of a line. Without Complete, the next Open resumes.
//
// A killed process: rows are in the file within Config.FlushInterval of Write. Rows not yet
// in the file are missing, and their lines are still needed when the journal is opened
// again. A row that was written partly is dropped.
//
// A power failure: with Config.Fsync, the same holds, since rows are flushed to disk before
// the next rows are written. Without it, recent rows may be missing. If the system left
// something else in their place, Open fails with a [*CorruptError] unless it has no line end.
//
// The same run: Open compares the input and the settings with those of the earlier run, and
// fails with a [*ChangedError] if they differ. It fails with [ErrForeign] for a file that is
// not a journal. It does not change a file that it refuses.
//
// One process: the sidecar is locked while the journal is open. Another Open fails with
// [ErrLocked].
//
// Other programs: before each flush, the journal checks that its files are still at their
// paths and that the output has the size that it should have. If another program removed,
// replaced, truncated or appended to them, all calls fail with an [*InterferenceError], and
// nothing is written anymore. Bytes that were changed in place are not detected. Between
// two runs, rows may be removed: their lines are then needed again.
//
// Memory: rows of Config.BufferSize, 4 MiB of rows that wait for an earlier one, and one bit
// per line. Lines should be numbered without large gaps.
package journal
