-- Which region is home, where the database arbitrates between regions: one row. It has no times: whoever can't reach home
-- watches whether the number of renewals still grows.
CREATE TABLE home_region (
  id BIGINT PRIMARY KEY,
  epoch BIGINT NOT NULL,
  home TEXT NOT NULL,
  renewals BIGINT NOT NULL
);
