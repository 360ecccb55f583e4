-- Run once by Patroni, on the first primary.
\getenv password NIGHTLEDGER_DATABASE_PASSWORD
create role nightledger login password :'password';
grant pg_read_all_stats to nightledger;
create database nightledger owner nightledger;
