import { once } from 'node:events'
import { connect } from 'node:net'
import type { TestContext } from 'node:test'
import { answer } from '#route.ts'
import { GOOD_KEY, type HarnessInput, startHarness } from '#test/http/api-harness.ts'

export const get = (target = '/api/thing', more = '') =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
export const THING = get()
export const KEYED = `Authorization: Bearer ${GOOD_KEY}\r\n`

/** A server, and sockets that send bytes to it as they are. */
export async function startLines(context: TestContext, more: HarnessInput = {}) {
  const world = await startHarness(more)
  const sockets: { destroy(): void }[] = []
  context.after(async () => {
    for (const socket of sockets) socket.destroy()
    await world.server.stop()
  })
  const open = (options = {}) => {
    const socket = connect({ port: world.port, host: '127.0.0.1', noDelay: true, ...options })
    socket.on('error', () => undefined)
    sockets.push(socket)
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk
    })
    const answers = () => text.split(/(?=HTTP\/1\.1 \d)/).filter((each) => each !== '')
    return {
      ...{ socket, closed, answers },
      statuses: () => answers().map((each) => Number(each.slice(9, 12))),
      /** Sends bytes, which are read by the time of the answer to a request elsewhere. */
      async send(bytes: string | Buffer) {
        socket.write(bytes)
        for (let turn = 0; turn < 3; turn += 1) await fetch(`${world.origin}/nowhere`)
      },
      /** Sends one request and gives its answer. */
      async ask(request: string): Promise<string> {
        const before = answers().length
        socket.write(request)
        while (answers().length === before) await once(socket, 'data')
        return answers().at(-1) ?? ''
      },
    }
  }
  return {
    world,
    open,
    /** Lets `/api/thing` answer only when what this gives is called. */
    holdThing(data: string): () => void {
      const { promise, resolve } = Promise.withResolvers<void>()
      world.outcome = async () => {
        await promise
        return answer(200, { data })
      }
      return resolve
    },
    anonymous: () => world.counts.get('127.0.0.1'),
  }
}

/** Anonymous callers with more calls than a test needs. */
export const GENEROUS: HarnessInput = { anonymousQuota: 1_000 }
