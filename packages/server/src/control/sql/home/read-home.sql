-- Which region is home.
SELECT epoch, home, renewals FROM home_region WHERE id = 1
