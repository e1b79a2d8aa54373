import Fastify from 'fastify'
import pg from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { BODY, DAY_SECONDS, HEADERS_UNCOUNTED, identityOf, QUOTA } from './answer.mjs'

/** As many connections as Sexton opens for its accounts. */
const CONNECTIONS = 8

const storeClient = new pg.Pool({ connectionString: process.env.BENCH_DATABASE, max: CONNECTIONS })
const limiter = await makeLimiter()

/** The durable rival: one statement of its own for every request. */
const app = Fastify({ exposeHeadRoutes: false })
app.get(process.env.BENCH_PATH, async (request, reply) => {
  const { remainingPoints, msBeforeNext } = await limiter.consume(identityOf(request))
  reply.headers(HEADERS_UNCOUNTED)
  reply.header('X-RateLimit-Limit', QUOTA)
  reply.header('X-RateLimit-Remaining', remainingPoints)
  reply.header('X-RateLimit-Reset', Math.ceil((Date.now() + msBeforeNext) / 1000))
  return BODY
})
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })

function makeLimiter() {
  const options = { storeClient, points: QUOTA, duration: DAY_SECONDS, tableName: 'limits' }
  return new Promise((resolve, reject) => {
    const made = new RateLimiterPostgres(options, (error) =>
      error ? reject(error) : resolve(made),
    )
  })
}
