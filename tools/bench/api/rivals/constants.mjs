import Fastify from 'fastify'
import { BODY, HEADERS } from './answer.mjs'

/** Fastify at its fastest: a synchronous handler, headers that never change, no counting. */
const app = Fastify({ exposeHeadRoutes: false })
app.get(process.env.BENCH_PATH, (_request, reply) => {
  reply.headers(HEADERS).send(BODY)
})
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
