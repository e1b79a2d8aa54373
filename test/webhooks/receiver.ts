import { createPublicKey, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly unix: number
}

type Behave = (response: ServerResponse, event: Received) => unknown

/** A real receiver that verifies every signature and echoes challenges; its name is made up. */
export interface Receiver {
  readonly url: string
  /** What came with a good signature, challenges aside, in order. */
  readonly events: Received[]
  /** Requests, good or not. */
  readonly requests: number
  /** What it does with an event: 204 unless told. */
  behave: Behave
  /** What it does with a challenge: echoes it unless told. */
  accept: Behave
  stop(): Promise<void>
}

/** As its owner got it: `whpk_…`. */
export async function startReceiver(publicKey: string): Promise<Receiver> {
  const counted = { requests: 0 }
  const server = createServer(async (request, response) => {
    counted.requests += 1
    const event = await readEvent(publicKey, request)
    if (event === undefined) return void response.writeHead(400).end()
    if (event.type === 'webhook.challenge') return void receiver.accept(response, event)
    receiver.events.push(event)
    receiver.behave(response, event)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://receiver.example:${port}/hook`,
    events: [],
    get requests() {
      return counted.requests
    },
    behave: (response) => response.writeHead(204).end(),
    accept: (response, { data }) => response.end(JSON.stringify({ challenge: data.challenge })),
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

async function readEvent(
  publicKey: string,
  request: IncomingMessage,
): Promise<Received | undefined> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  const id = String(request.headers['webhook-id'])
  const timestamp = String(request.headers['webhook-timestamp'])
  const signatures = String(request.headers['webhook-signature']).split(' ')
  const content = `${id}.${timestamp}.${body}`
  if (!signatures.some((each) => isSigned(publicKey, content, each))) return undefined
  const { type, data } = JSON.parse(body)
  return { id, type, data, unix: Number(timestamp) }
}

/** Standard Webhooks 1.0.0, "Signature scheme", asymmetric. */
function isSigned(publicKey: string, content: string, signature: string): boolean {
  const [version, text = ''] = signature.split(',')
  const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return version === 'v1a' && verify(null, Buffer.from(content), key, Buffer.from(text, 'base64'))
}
