<?php
// A webhook receiver for PHP 8. No packages.
//   WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:9000 receiver.php

const TOLERANCE_S = 300;

/** True if one of the header's v1 values is ours, over the raw bytes, and its time is near. During a rotation there are two. */
function is_genuine(string $rawBody, string $header, string $secret, ?int $nowS = null): bool
{
    $t = '';
    $given = [];
    foreach (array_map('trim', explode(',', $header)) as $part) {
        if (str_starts_with($part, 't=')) $t = substr($part, 2);
        if (str_starts_with($part, 'v1=')) $given[] = substr($part, 3);
    }
    if (!preg_match('/^[0-9]{1,12}$/D', $t) || abs(($nowS ?? time()) - (int) $t) > TOLERANCE_S) return false;
    $expected = hash_hmac('sha256', $t . '.' . $rawBody, $secret);
    $isOurs = false;
    foreach ($given as $one) $isOurs = hash_equals($expected, $one) || $isOurs;
    return $isOurs;
}

$rawBody = file_get_contents('php://input');
if (!is_genuine($rawBody, $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '', getenv('WEBHOOK_SECRET') ?: '')) {
    http_response_code(401);
    exit;
}
$event = json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
// Handled before? Insert $event['id'] under a unique index in your database, and stop here if it is there already.
error_log($event['event'] . ' ' . ($event['data']['id'] ?? ''));
// Answer first, work later: after 10 seconds the delivery counts as failed.
http_response_code(204);
