import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { EventSource } from 'eventsource'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { readStream } from '#examples/stream.ts'
import { launchChromium } from '../chromium.ts'
import { eventually } from '../world.ts'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'
import { type StreamWorld, startStreamWorld } from './stream-world.ts'

const EVENTS = 5_000
const BLOCKS = 20
const CUTS = 50

/** An event has more than 600; each connection brings some. */
const BYTES_PER_CONNECTION = (EVENTS * 500) / CUTS

/** Follows a stream; what it returns counts and reads what has come so far. */
type Follow = (url: string, secret: string) => Promise<Seen>

interface Seen {
  count(): Promise<number>
  read(): Promise<readonly string[]>
}

let browser: Browser
let visitor: BrowserContext
let world: StreamWorld
before(async () => {
  browser = await launchChromium()
  visitor = await browser.newContext()
  world = await startStreamWorld({ anonymousQuota: 1_000 })
})
after(async () => {
  for (const each of sources) each.close()
  await browser.close()
  for (const each of proxies) await each.stop()
  await world.end()
})

const proxies: CuttingProxy[] = []
const sources: EventSource[] = []

test('of 5,000 events stock clients miss none and get none twice over 50 cut connections', async (context) => {
  const start = await lastId()
  const followed = await Promise.all(CLIENTS.map(([name, follow]) => begin(name, follow, start)))
  for (let block = 0; block < BLOCKS; block += 1) await world.burn(EVENTS / BLOCKS)
  for (const { name, proxy, client } of followed)
    await context.test(name, async () => {
      await eventually(async () => (await client.count()) >= EVENTS || undefined, 60_000)
      const seen = await client.read()
      assert.deepEqual([seen.length, new Set(seen).size, proxy.cuts], [EVENTS, EVENTS, CUTS])
      assert.ok(seen.every((each) => each.startsWith('add ')))
    })
})

async function lastId(): Promise<string> {
  for await (const { id } of readStream(`${world.origin}/api/stream`)) return id
  throw new Error('the stream was empty')
}

async function begin(name: string, follow: Follow, start: string) {
  const cutting = { cutsMax: CUTS, bytes: BYTES_PER_CONNECTION }
  const proxy = await startCuttingProxy(world.origin, cutting)
  proxies.push(proxy)
  const { secret, publicId } = await world.callers.mint()
  await world.callers.fund(publicId, 1_000_000n)
  const url = `${proxy.origin}/api/stream?kind=burn&cursor=${start}`
  return { name, proxy, client: await follow(url, secret) }
}

const CLIENTS: readonly (readonly [string, Follow])[] = [
  [
    'EventSource in Chromium without a key',
    async (url) => followIn(await visitor.newPage(), `new EventSource('${url}')`),
  ],
  ['event-source-polyfill in Chromium with a key', followWithPolyfill],
  ['npm eventsource without a key', async (url) => listen(new EventSource(url))],
  [
    'npm eventsource with a key',
    async (url, secret) => {
      const authorization = `Bearer ${secret}`
      return listen(
        new EventSource(url, {
          fetch: (input, init) =>
            fetch(input, { ...init, headers: { ...init.headers, authorization } }),
        }),
      )
    },
  ],
]

const EVENTS_SEEN = ['add', 'update', 'retract', 'reset', 'end']

function listen(source: EventSource): Seen {
  sources.push(source)
  const seen: string[] = []
  for (const name of EVENTS_SEEN)
    source.addEventListener(name, ({ data }) => seen.push(`${name} ${JSON.parse(data).row?.id}`))
  return { count: async () => seen.length, read: async () => seen }
}

/** Waits a second at least before it reconnects, and longer each time; not here. */
async function followWithPolyfill(url: string, secret: string) {
  const program = createRequire(import.meta.url).resolve('event-source-polyfill')
  const heartbeatTimeout = 3_600_000
  const impatient = `const wait = setTimeout
    setTimeout = (work, ms) => wait(work, ms < ${heartbeatTimeout} ? 1 : ms);`
  const options = { headers: { authorization: `Bearer ${secret}` }, heartbeatTimeout }
  const made = `new EventSourcePolyfill('${url}', ${JSON.stringify(options)})`
  const page = await visitor.newPage()
  await page.addScriptTag({ content: `${impatient}\n${await readFile(program, 'utf8')}` })
  return followIn(page, made)
}

async function followIn(page: Page, source: string): Promise<Seen> {
  await page.evaluate(`
    seen = []
    source = ${source}
    for (const name of ${JSON.stringify(EVENTS_SEEN)})
      source.addEventListener(name, ({ data }) => seen.push(name + ' ' + JSON.parse(data).row?.id))`)
  return { count: () => page.evaluate('seen.length'), read: () => page.evaluate('seen') }
}
