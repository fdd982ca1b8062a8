//! Between the searcher and the printer: commits each printed line and ends the search when nothing
//! more is wanted.

use std::io;

use grep_matcher::Matcher;
use grep_printer::StandardSink;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use termcolor::WriteColor;

use crate::desk::Desk;

pub(crate) struct Committing<'a, 'p, 's, M: Matcher, W> {
    pub(crate) printer: StandardSink<'p, 's, M, W>,
    pub(crate) desk: &'a Desk<'a>,
}

impl<M: Matcher, W: WriteColor> Sink for Committing<'_, '_, '_, M, W> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        let more = self.printer.matched(searcher, line)?;
        Ok(self.desk.commit(true) && more)
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.printer.context(searcher, context)
    }

    fn context_break(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.printer.context_break(searcher)
    }

    fn binary_data(&mut self, searcher: &Searcher, offset: u64) -> io::Result<bool> {
        self.printer.binary_data(searcher, offset)
    }

    fn begin(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.printer.begin(searcher)
    }

    fn finish(&mut self, searcher: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.printer.finish(searcher, finish)?;
        // The printer may have said here that the file is binary.
        self.desk.commit(false);
        Ok(())
    }
}
