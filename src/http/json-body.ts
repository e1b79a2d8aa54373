import type { FastifyInstance } from 'fastify'

/**
 * An unreadable body, or one with a member name that could reach a prototype. Refused together with
 * parameters, so that a bad key is reported first.
 */
export const BROKEN_BODY: unique symbol = Symbol('broken body')

/** Unreadable bodies become BROKEN_BODY instead of an error. */
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
