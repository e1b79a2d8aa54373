import type { EventCard } from '#site/event-card.ts'

export const graveDigCard: EventCard = {
  part: 'graveDigs',
  noun: 'dig',
  list: { operationId: 'listGraveDigs', path: '/api/grave-digs' },
  charts: [
    {
      name: 'grave-digs',
      metric: 'graveDigs',
      title: 'Graves dug a day',
      marks: 'bars',
      unit: 'count',
      isOnPage: true,
    },
  ],
  requests: {
    '/api/grave-digs': { limit: '5', chain: '', cursor: '' },
    '/api/grave-digs/leaderboard': { limit: '10', token: '' },
  },
  wallet: 'digger',
  what: ({ graveId }) => (graveId === null ? 'Grave dug' : `Grave dug, no. ${graveId}`),
}
