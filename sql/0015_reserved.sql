-- Reserved: replaced by the migration with this number when the branches are merged.
select 1;
