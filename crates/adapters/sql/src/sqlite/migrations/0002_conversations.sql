-- What people see in a conversation is found by its id. See docs/adr/0003-store-layout.md.

-- Set in the rows that people see, NULL in all others.
ALTER TABLE journal ADD COLUMN conversation TEXT;

-- Rows of layout 1 say what conversation they belong to only where they accept a call.
UPDATE journal SET conversation = body->>'$.call.conversation' WHERE happened = 'call_accepted';

-- Narrow: each entry ends with the row's id, so one conversation's rows are in the journal's order.
CREATE INDEX journal_by_conversation ON journal (conversation) WHERE conversation IS NOT NULL;
