import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly id: string
  readonly type: string
  readonly webhookId: string
  readonly url: string
  readonly data: Readonly<Record<string, unknown>>
  readonly unix: number
  /** As it came. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

type Behave = (response: ServerResponse, event: Received) => unknown

/** A real receiver that verifies every signature, on a host of its own. */
export interface Receiver {
  readonly url: string
  /** One of them signs what counts; all are taken while there is none. */
  readonly secrets: string[]
  /** What came with a good signature, in order. */
  readonly events: Received[]
  /** Requests, good or not. */
  readonly requests: number
  /** What it does with an event: 204 unless told. */
  behave: Behave
  stop(): Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const counted = { requests: 0 }
  const server = createServer(async (request, response) => {
    counted.requests += 1
    const event = await readEvent(receiver.secrets, request)
    if (event === undefined) return void response.writeHead(400).end()
    receiver.events.push(event)
    receiver.behave(response, event)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://receiver-${port}.localhost:${port}/hook`,
    secrets: [],
    events: [],
    get requests() {
      return counted.requests
    },
    behave: (response) => response.writeHead(204).end(),
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

async function readEvent(
  secrets: readonly string[],
  request: IncomingMessage,
): Promise<Received | undefined> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const id = String(request.headers['webhook-id'])
  const timestamp = String(request.headers['webhook-timestamp'])
  const signature = String(request.headers['webhook-signature'])
  const isGood = secrets.some((each) => isSigned(each, { id, timestamp, body, signature }))
  if (!isGood && secrets.length > 0) return undefined
  const { type, webhookId, url, data } = JSON.parse(body)
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  }
  return { id, type, webhookId, url, data, unix: Number(timestamp), body, headers }
}

interface Signed {
  readonly id: string
  readonly timestamp: string
  readonly body: string
  /** The header. */
  readonly signature: string
}

/** Standard Webhooks 1.0.0, "Verifying signatures", symmetric; written from the specification. */
export function isSigned(secret: string, { id, timestamp, body, signature }: Signed): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  return signature.split(' ').some((each) => {
    const [version, text = ''] = each.split(',')
    const given = Buffer.from(text, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
}
