-- Run once by PostgreSQL's image, when it makes the database of compose.yaml: the roles beside the owner.
\getenv password NIGHTLEDGER_SERVICE_PASSWORD
create role nightledger_service login password :'password';
create role nightledger_read nologin;
