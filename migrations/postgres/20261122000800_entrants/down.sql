DROP INDEX participants_entered;
