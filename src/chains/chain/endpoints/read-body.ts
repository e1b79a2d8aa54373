import type { IncomingMessage } from 'node:http'
import { free } from '#lib/free.ts'
import type { BodyPool } from './body-pool.ts'
import { EndpointError } from './endpoint-error.ts'

/** The limit is over ten times the target size. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024

export function readBody(incoming: IncomingMessage, pool?: BodyPool): Promise<Buffer> {
  const declared = Number(incoming.headers['content-length'] ?? Number.NaN)
  return new Promise((resolve, reject) => {
    const body = declared <= BODY_BYTES_MAX ? makeSized(declared, pool) : makeGrowing()
    const refuse = () => {
      incoming.destroy()
      reject(new EndpointError('too-large', `the answer exceeds ${BODY_BYTES_MAX} bytes`))
    }
    if (declared > BODY_BYTES_MAX) refuse()
    incoming.on('data', (part: Buffer) => {
      if (body.add(part) > BODY_BYTES_MAX) refuse()
    })
    incoming.on('end', () => resolve(body.whole()))
    incoming.on('error', (cause) => {
      const words = `the answer was cut off: ${cause.message}`
      reject(new EndpointError('cut-off', words, { cause }))
    })
  })
}

interface Body {
  add(part: Buffer): number
  whole(): Buffer
}

/** Avoids copying megabytes. */
function makeSized(size: number, pool: BodyPool | undefined): Body {
  const whole = pool?.take(size) ?? Buffer.allocUnsafeSlow(size)
  let length = 0
  return {
    add(part) {
      length += part.copy(whole, length)
      freePart(part)
      return length
    },
    whole: () => whole.subarray(0, length),
  }
}

function makeGrowing(): Body {
  const parts: Buffer[] = []
  let length = 0
  return {
    add(part) {
      length += part.length
      if (length <= BODY_BYTES_MAX) parts.push(part)
      return length
    },
    whole() {
      const whole = Buffer.concat(parts, length)
      for (const part of parts) freePart(part)
      return whole
    },
  }
}

/** A response comes in a hundred parts, which the collector would leave for dozens of responses. */
function freePart({ buffer, length }: Buffer): void {
  // Not Node's pool, of which a part may be a slice.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) free(new Uint8Array(buffer))
}
