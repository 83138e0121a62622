# Reads data.csv, writes made-1.csv, made-2.csv, …; called by synthpop.py with
# seed, rows, copies, the kinds of the columns, and settings as name=value.
suppressPackageStartupMessages(library(synthpop))
given <- commandArgs(trailingOnly = TRUE)
seed <- as.integer(given[1])
rows <- as.integer(given[2])
copies <- as.integer(given[3])
kinds <- strsplit(given[4], ",", fixed = TRUE)[[1]]
data <- read.csv("data.csv", na.strings = "", stringsAsFactors = FALSE, check.names = FALSE)
for (i in seq_along(kinds)) {
  if (kinds[i] == "category") data[[i]] <- factor(data[[i]])
  if (kinds[i] == "ordered") data[[i]] <- factor(data[[i]], ordered = TRUE)
}
known <- list(data = data, m = copies, k = rows, seed = seed, method = "cart",
              print.flag = FALSE, models = FALSE)
for (pair in given[-(1:4)]) {
  parts <- strsplit(pair, "=", fixed = TRUE)[[1]]
  value <- type.convert(parts[2], as.is = TRUE)
  known[[parts[1]]] <- value
}
made <- do.call(syn, known)
tables <- if (copies == 1) list(made$syn) else made$syn
for (copy in seq_along(tables)) {
  write.csv(tables[[copy]], paste0("made-", copy, ".csv"), row.names = FALSE, na = "")
}
