module example.com/kettle

go 1.19
