import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Histogram, Registry } from 'prom-client'
import { Distribution } from './call-counts.ts'

it('a distribution reads to Prometheus as the histogram of its own client does', async () => {
  const bounds = [0.001, 0.5, 2]
  const registry = new Registry()
  const histogram = new Histogram({
    name: 'seconds',
    help: 'x',
    labelNames: ['route'],
    buckets: bounds,
    registers: [registry],
  })
  const distribution = new Distribution(bounds)
  for (const value of [0, 0.001, 0.0011, 0.5, 1.5, 2, 3, 1_000]) {
    distribution.add(value)
    histogram.observe({ route: '/a' }, value)
  }
  const expected = (await registry.metrics()).split('\n').filter((line) => /^seconds/.test(line))
  assert.deepEqual(distribution.lines('seconds', 'route="/a"'), expected)
})
