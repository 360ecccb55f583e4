-- A unit whose rates cannot be read would keep the whole inventory of its agency from being read (D1).
alter table unit add constraint unit_rates_have_their_form check (
  jsonb_typeof(rates -> 'seasons') is not distinct from 'array'
  and jsonb_typeof(rates -> 'weekdayAdjustments') is not distinct from 'array'
  and jsonb_typeof(rates -> 'lengthOfStayDiscounts') is not distinct from 'array'
  and jsonb_array_length(rates -> 'seasons') = jsonb_array_length(jsonb_path_query_array(rates,
    '$.seasons[*] ? (@.from like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" && @.to like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")')));
