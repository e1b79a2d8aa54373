import rateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import Redis from 'ioredis'
import { BODY, HEADERS_UNCOUNTED, identityOf, QUOTA } from './answer.mjs'

/** The field's usual limiter: counts in memory, or in a Redis that BENCH_REDIS names. */
const redis = process.env.BENCH_REDIS ? new Redis(process.env.BENCH_REDIS) : undefined

const app = Fastify({ exposeHeadRoutes: false })
await app.register(rateLimit, {
  max: QUOTA,
  timeWindow: '1 day',
  keyGenerator: identityOf,
  ...(redis !== undefined && { redis }),
})
app.get(process.env.BENCH_PATH, (_request, reply) => {
  reply.headers(HEADERS_UNCOUNTED).send(BODY)
})
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
