import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { acceptsCoding } from '#http/accept.ts'
import { matchesEtag } from '#http/etag.ts'
import type { Incoming, Outgoing } from '#http/exchange.ts'

interface Version {
  readonly text: string
  readonly etag: string
  gzipped?: Promise<Buffer>
}

/** Answers with a text that changes now and then, and compresses each version once. */
export class VersionedText {
  #last: Version | undefined

  /** `headers` are copied; ETag, coding and the body are added. */
  async answer(incoming: Incoming, text: string, headers: readonly string[]): Promise<Outgoing> {
    const version = this.#versionOf(text)
    const { etag } = version
    const own = ['ETag', etag, ...headers]
    if (matchesEtag(incoming.headers['if-none-match'], etag))
      return { status: 304, headers: own, body: '' }
    if (!acceptsCoding(incoming.headers['accept-encoding']?.toString(), 'gzip'))
      return { status: 200, headers: own, body: text }
    version.gzipped ??= promisify(gzip)(text)
    own.push('Content-Encoding', 'gzip')
    return { status: 200, headers: own, body: await version.gzipped }
  }

  #versionOf(text: string): Version {
    if (this.#last?.text === text) return this.#last
    this.#last = { text, etag: `W/"${hash('sha256', text, 'base64url').slice(0, 22)}"` }
    return this.#last
  }
}
