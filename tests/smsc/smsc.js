// An SMSC built on node-smpp, an independent implementation. It listens on a free loopback port,
// accepts the password it is started with, prints events as lines of JSON, and carries out orders
// from standard input, one per line:
//
//   {"submit": {...}}    sets how it answers submits from now on (see `manner`)
//   {"receipt": {...}}   sends a receipt: {id, state, form, err}
//   {"deliver": {...}}   sends these fields as a deliver_sm
//   {"count_from": n}    numbers messages from n + 1; at the start from 1
//   {"drop": true}       closes every connection
//
// It ends when standard input does.
'use strict';

const smpp = require('smpp');
const readline = require('readline');

const sessions = new Set();
let texts = 0;
let held = [];
// throttle: how many submits it throttles first; refuse: the status with which it refuses all;
// drop_after: answers none, and closes the connection after this many;
// delay: milliseconds before an answer;
// reorder: answers this many together, in reverse order; repeat: sends each answer twice; id: how
// it spells ids; receipt: form of the receipt for each message, `before` the answer or `after` it.
let manner = {};

function tell(line) {
  process.stdout.write(JSON.stringify(line) + '\n');
}

function spelt(number) {
  return manner.id === 'hex' ? number.toString(16) : String(number);
}

function answer(session, pdu, id) {
  const respond = () => {
    const response = pdu.response({ message_id: spelt(id) });
    session.send(response);
    if (manner.repeat) session.send(pdu.response({ message_id: spelt(id) }));
    if (manner.after) receipt({ id, state: 'DELIVRD', form: manner.after, pdu });
  };
  if (manner.before) receipt({ id, state: 'DELIVRD', form: manner.before, pdu });
  if (manner.delay) setTimeout(respond, manner.delay);
  else if (manner.reorder) {
    held.push(respond);
    if (held.length >= manner.reorder) {
      const ready = held.reverse();
      held = [];
      ready.forEach((each) => each());
    }
  } else respond();
}

function receipt({ id, state, form, err, pdu }) {
  const states = { ENROUTE: 1, DELIVRD: 2, EXPIRED: 3, DELETED: 4, UNDELIV: 5, ACCEPTD: 6, UNKNOWN: 7, REJECTD: 8 };
  const fields = {
    source_addr: pdu ? pdu.destination_addr : '447700900123',
    source_addr_ton: 1,
    source_addr_npi: 1,
    destination_addr: pdu ? pdu.source_addr : '447700900001',
    esm_class: 4,
  };
  const words = `id:${id} sub:001 dlvrd:001 submit date:2611210707 done date:2611210708 stat:${state} err:${err || '000'} text:`;
  if (form !== 'tlv') fields.short_message = { message: Buffer.from(form === 'corrupt' ? words.slice(0, 20) : words) };
  if (form === 'tlv' || form === 'both') {
    fields.receipted_message_id = String(id);
    fields.message_state = states[state];
  }
  for (const session of sessions) {
    if (session.takes) {
      session.deliver_sm(fields, (response) => tell({ event: 'answered', status: response.command_status }));
      return;
    }
  }
  tell({ event: 'nobody' });
}

const server = smpp.createServer((session) => {
  sessions.add(session);
  session.on('error', () => {});
  session.on('close', () => {
    sessions.delete(session);
    tell({ event: 'closed' });
  });
  const bind = (kind) => (pdu) => {
    const status = pdu.password === process.argv[2] ? smpp.ESME_ROK : smpp.ESME_RINVPASWD;
    session.takes = kind !== 'transmitter';
    tell({ event: 'bind', kind, version: pdu.interface_version });
    session.send(pdu.response({ command_status: status, system_id: 'peer' }));
  };
  session.on('bind_transceiver', bind('transceiver'));
  session.on('bind_transmitter', bind('transmitter'));
  session.on('bind_receiver', bind('receiver'));
  session.on('enquire_link', (pdu) => session.send(pdu.response()));
  session.on('unbind', (pdu) => {
    tell({ event: 'unbind' });
    session.send(pdu.response());
    session.close();
  });
  session.on('submit_sm', (pdu) => {
    texts += 1;
    if (manner.throttle > 0) {
      manner.throttle -= 1;
      session.send(pdu.response({ command_status: smpp.ESME_RTHROTTLED }));
      return;
    }
    if (manner.refuse) {
      session.send(pdu.response({ command_status: manner.refuse }));
      return;
    }
    const payload = pdu.message_payload;
    const content = payload && payload.message !== undefined ? payload : pdu.short_message;
    tell({
      event: 'text',
      id: texts,
      from: pdu.source_addr,
      from_ton: pdu.source_addr_ton,
      to: pdu.destination_addr,
      words: content.message,
      udh: content.udh ? [...Buffer.concat(content.udh)] : null,
      sar: pdu.sar_total_segments === undefined ? null
        : [pdu.sar_msg_ref_num, pdu.sar_total_segments, pdu.sar_segment_seqnum],
      data_coding: pdu.data_coding,
      registered: pdu.registered_delivery,
      validity: pdu.validity_period,
    });
    if (manner.drop_after !== undefined) {
      manner.drop_after -= 1;
      if (manner.drop_after > 0) return;
      delete manner.drop_after;
      session.socket.destroy();
      return;
    }
    answer(session, pdu, texts);
  });
});

readline.createInterface({ input: process.stdin })
  .on('line', (line) => {
    const command = JSON.parse(line);
    if (command.submit) manner = command.submit;
    if (command.count_from) texts = command.count_from;
    if (command.receipt) receipt(command.receipt);
    if (command.deliver) {
      const fields = command.deliver;
      if (fields.octets) fields.short_message = { message: Buffer.from(fields.octets) };
      delete fields.octets;
      for (const session of sessions) {
        if (session.takes) {
          session.deliver_sm(fields, (response) => tell({ event: 'answered', status: response.command_status }));
          break;
        }
      }
    }
    if (command.drop) for (const session of sessions) session.socket.destroy();
    tell({ event: 'done' });
  })
  .on('close', () => process.exit(0));

server.listen(0, '127.0.0.1', () => tell({ event: 'listening', port: server.address().port }));
