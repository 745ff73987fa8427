//! A generation as a stream, for asynchronous programs.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::{Error, Generation, Piece};

/// What gives the next item, and the generation back.
type Advance = Pin<Box<dyn Future<Output = (Generation, Option<Item>)> + Send>>;
type Item = Result<Piece, Error>;

/// The pieces of a generation, one after the other.
struct Pieces {
    /// `None` behind the last item.
    next: Option<Advance>,
}

impl Generation {
    /// The pieces as a stream, with the same text as the iterator: each is computed when it is asked for, and an error
    /// is the last item. A wait for an item that is dropped loses nothing. To cancel, drop the stream.
    ///
    /// ```no_run
    /// use futures::StreamExt;
    /// use ziggurat_models::{Error, GenerateOptions, Model};
    ///
    /// async fn write(model: &Model) -> Result<(), Error> {
    ///     let mut stream = model.generate("Once upon a time", &GenerateOptions::default())?.into_stream();
    ///     while let Some(piece) = stream.next().await {
    ///         print!("{}", piece?.text);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = Result<Piece, Error>> + Send + Unpin + 'static {
        Pieces {
            next: Some(advance(self)),
        }
    }
}

fn advance(mut generation: Generation) -> Advance {
    Box::pin(async move {
        let item = generation.advance().await;
        (generation, item)
    })
}

impl Stream for Pieces {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        let Some(next) = &mut self.next else {
            return Poll::Ready(None);
        };
        let (generation, item) = ready!(next.as_mut().poll(context));
        self.next = item.is_some().then(|| advance(generation));
        Poll::Ready(item)
    }
}
