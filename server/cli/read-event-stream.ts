/** Server-sent events back to what they carry. */
export async function* readEventStream<T>(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let buffered = '';
  for await (const chunk of chunks) {
    buffered += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const blocks = buffered.split('\n\n');
    buffered = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => line.slice('data: '.length))
        .join('\n');
      if (data !== '') yield JSON.parse(data) as T;
    }
  }
}
