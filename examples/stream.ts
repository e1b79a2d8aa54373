export interface StreamEvent {
  readonly event: string
  /** Send it as `Last-Event-ID` to continue after this event. */
  readonly id: string
  readonly data: Record<string, unknown>
}

/** The events of one connection. */
export async function* readStream(
  url: string | URL,
  { lastEventId = '', ...init }: RequestInit & { readonly lastEventId?: string } = {},
): AsyncGenerator<StreamEvent> {
  const headers = new Headers(init.headers)
  if (lastEventId !== '') headers.set('Last-Event-ID', lastEventId)
  const { body, ok, status } = await fetch(url, { ...init, headers })
  if (!ok || body === null) throw new Error(`${url} answered ${status}`)
  let id = lastEventId
  let text = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => splitField(line)))
      id = fields.get('id') ?? id
      const data = fields.get('data')
      const event = fields.get('event') ?? 'message'
      if (data !== undefined) yield { event, id, data: JSON.parse(data) }
    }
  }
}

function splitField(line: string): readonly [string, string] {
  const end = line.indexOf(':')
  return [line.slice(0, end), line.slice(end + 1).trimStart()]
}

// node examples/stream.ts [url]: prints changes as they happen and reconnects. SEXTON_KEY is optional.
if (import.meta.main) {
  const { SEXTON_KEY: key } = process.env
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const url = new URL('/api/stream', process.argv[2] ?? 'http://localhost:4020')
  for (let lastEventId = '', isOver = false; !isOver; ) {
    try {
      for await (const { event, id, data } of readStream(url, { headers, lastEventId })) {
        lastEventId = id
        isOver = event === 'end' && data.reason !== 'server_stopping'
        process.stdout.write(`${event} ${JSON.stringify(data)}\n`)
      }
    } catch (error) {
      // What fetch throws when the connection fails.
      if (!(error instanceof TypeError)) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}
