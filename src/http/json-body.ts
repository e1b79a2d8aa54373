import type { FastifyInstance } from 'fastify'

/**
 * Stands for a body that is no JSON, or that has a member name which could reach a prototype. It is
 * refused where parameters are, so that a bad key is told first.
 */
export const BROKEN_BODY: unique symbol = Symbol('broken body')

/** Reads JSON bodies; one that cannot be read becomes BROKEN_BODY instead of an error. */
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
