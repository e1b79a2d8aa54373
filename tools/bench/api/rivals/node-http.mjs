import { createServer } from 'node:http'
import { BODY, HEADER_LIST } from './answer.mjs'

const headers = [...HEADER_LIST, 'Content-Length', String(Buffer.byteLength(BODY))]

/** The least that an answer costs on Node: no routes, no counting. */
const server = createServer((_request, response) => {
  response.writeHead(200, headers)
  response.end(BODY)
})
server.listen(Number(process.env.PORT), '127.0.0.1')
