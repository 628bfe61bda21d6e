-- What is too long to be typed waits for a disk that takes it.
INSERT INTO mail_waits VALUES ('disk');
