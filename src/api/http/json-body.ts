import type { FastifyInstance } from 'fastify'

/**
 * Unreadable, or with a member that could reach a prototype. Refused together with parameters,
 * after the key.
 */
export const BROKEN_BODY: unique symbol = Symbol('broken body')

/** Allows white space around the semicolon (RFC 9110, 8.3.1) and the usual misspelling of UTF-8. */
export const JSON_BODY_TYPE = /^application\/json(?: ?; ?charset="?utf-?8"?)?$/i

/** Of `JSON_BODY_TYPE`, which the server checks: Fastify overlooks broken parameters. */
export function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      const text = utf8.decode(bytes)
      void parse(request, text, (error, body) => done(null, error === null ? body : BROKEN_BODY))
    } catch {
      done(null, BROKEN_BODY)
    }
  })
}
