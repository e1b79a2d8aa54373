import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readiness } from '#api/health-routes.ts'
import type { Metrics } from '#api/metrics.ts'

interface MetricsServer {
  readonly port: number
  stop(): Promise<void>
}

interface OperatorPage {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** /livez, /metrics and the full /readyz, for operators only. */
export async function startMetricsServer(
  deps: {
    readonly metrics: Pick<Metrics, 'text' | 'contentType'>
    /** Shows RPC hosts. */
    readiness?(): Promise<Readiness>
  },
  place: { readonly host: string; readonly port: number },
): Promise<MetricsServer> {
  const { metrics, readiness } = deps
  const pages: Readonly<Record<string, () => Promise<OperatorPage>>> = {
    '/livez': async () => ({ status: 200, type: 'text/plain; charset=utf-8', text: 'ok\n' }),
    '/metrics': async () => {
      const text = await metrics.text()
      return { status: 200, type: metrics.contentType, text }
    },
    ...(readiness && {
      '/readyz': async () => {
        const found = await readiness()
        const text = JSON.stringify(found)
        return { status: found.ready ? 200 : 503, type: 'application/json; charset=utf-8', text }
      },
    }),
  }
  const server = createServer(async (request, response) => {
    const read = request.method === 'GET' ? pages[request.url ?? ''] : undefined
    if (read === undefined) return response.writeHead(404).end()
    try {
      const { status, type, text } = await read()
      response.writeHead(status, { 'Content-Type': type }).end(text)
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
