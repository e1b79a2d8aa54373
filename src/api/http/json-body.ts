import type { FastifyInstance } from 'fastify'

/**
 * Unreadable, or with a member that could reach a prototype. Refused together with parameters,
 * after the key.
 */
export const BROKEN_BODY: unique symbol = Symbol('broken body')

export function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    // `checkFraming` has refused every other type.
    '*',
    { parseAs: 'buffer' },
    (request, bytes, done) => {
      try {
        const text = utf8.decode(bytes)
        void parse(request, text, (error, body) => done(null, error === null ? body : BROKEN_BODY))
      } catch {
        done(null, BROKEN_BODY)
      }
    },
  )
}
