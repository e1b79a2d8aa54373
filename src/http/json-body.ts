import type { FastifyInstance } from 'fastify'

/**
 * Unreadable, or with a member that could reach a prototype. Refused together with parameters,
 * after the key.
 */
export const BROKEN_BODY: unique symbol = Symbol('broken body')

export function readJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, text, done) => {
      void parse(request, text, (error, body) => done(null, error === null ? body : BROKEN_BODY))
    },
  )
}
