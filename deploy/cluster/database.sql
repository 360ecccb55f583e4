-- Run once by Patroni, on the first primary: the owner of the database, the role that the nodes serve with, and that for reports.
\getenv owner_password NIGHTLEDGER_OWNER_PASSWORD
\getenv password NIGHTLEDGER_SERVICE_PASSWORD
create role nightledger login password :'owner_password';
create role nightledger_service login password :'password';
create role nightledger_read nologin;
grant pg_read_all_stats to nightledger_service;
create database nightledger owner nightledger;
