import type { AddressInfo } from 'node:net'
import type { Metrics } from '#api/metrics.ts'
import { createServer } from '#lib/node-http.ts'

export interface MetricsServer {
  readonly port: number
  stop(): Promise<void>
}

/** Serves GET /metrics on a port of its own, so that the public port never shows it. */
export async function startMetricsServer(
  metrics: Pick<Metrics, 'text' | 'contentType'>,
  place: { readonly host: string; readonly port: number },
): Promise<MetricsServer> {
  const server = createServer(async (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return response.writeHead(404).end()
    try {
      const text = await metrics.text()
      response.writeHead(200, { 'Content-Type': metrics.contentType }).end(text)
    } catch {
      response.writeHead(500).end()
    }
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(place.port, place.host, resolve)
  await promise
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => new Promise((done) => server.close(() => done()).closeAllConnections()),
  }
}
