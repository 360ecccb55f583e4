-- GET {a}/tape: an expected extension reaches into the window from any earlier stay, not only from the latest one of its unit. Few bookings
-- have one, so the index stays small.
create index booking_expected_until on booking (agency_id, expected_until) where expected_until is not null;
